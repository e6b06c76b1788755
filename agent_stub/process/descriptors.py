"""File descriptors that the agent was started with and that its programs are not to have."""

from __future__ import annotations

import os


def seal() -> None:
    """Set close-on-exec on all descriptors but 0, 1 and 2; Python sets it on those that it opens itself (PEP 446).

    posix_spawn(3) closes nothing, and an engine may have left a token's descriptor or its own open.
    """
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        numbers = list(range(1024))
    for number in numbers:
        if number > 2:
            try:
                os.set_inheritable(number, False)
            except OSError:
                continue
