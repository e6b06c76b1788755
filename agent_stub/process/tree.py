"""A process and everything that it started, also what has left its session or lost its parent.

Shells and timed programs are made child subreapers (prctl(2)): the kernel gives an orphan to its nearest living ancestor
that is one, so the tree below such a process is complete, whatever daemons in it did.
"""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Make this process the reaper of its descendants' orphans; kept over execve(2)."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> list[int]:
    """The living processes below ``root``, parents first; empty without /proc."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found, waiting = [], [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.append(child)
            waiting.append(child)
    return found


def signal_tree(root: int, number: signal.Signals, *, with_root: bool) -> int:
    """Send a signal to all below ``root``, and to it when asked; returns how many there were."""
    pids = [*descendants(root), *([root] if with_root else [])]
    count = 0
    for pid in pids:
        try:
            os.kill(pid, number)
            count += 1
        except (ProcessLookupError, PermissionError):
            continue
    return count


def _parents() -> list[tuple[int, int]]:
    found = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    # pid (comm) state ppid ...; comm may hold anything, also `)`
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state != b"Z":
                found.append((int(name), int(parent)))
    return found
