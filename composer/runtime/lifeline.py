"""A process that removes one container when the process that owns it is gone, however that ended.

``python -m composer.runtime.lifeline HOST ID CONTROL``: a byte on stdin means that the owner took care itself; end of
file without one means that it died.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

from composer.errors import ComposerError


def start(host: str, container: str, control: Path) -> subprocess.Popen[bytes]:
    """Start one; in a session of its own, so that Ctrl-C in a terminal does not reach it."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "composer.runtime.lifeline", host, container, str(control)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def release(process: subprocess.Popen[bytes]) -> None:
    """Tell it that the container is gone."""
    with contextlib.suppress(BrokenPipeError):
        process.communicate(b".")


def main(host: str, container: str, control: str) -> None:
    """Wait for the owner."""
    if sys.stdin.buffer.read(1):
        return
    from composer.runtime.daemon import connected

    with contextlib.suppress(ComposerError):
        with connected(host, container) as client:
            client.containers.get(container).remove(force=True, v=True)
    forget_control(Path(control))


def forget_control(control: Path) -> None:
    """Remove a control directory and the token beside it."""
    shutil.rmtree(control, ignore_errors=True)
    control.with_suffix(".token").unlink(missing_ok=True)


if __name__ == "__main__":
    main(*sys.argv[1:4])
