"""Control directories: on the host below one private folder, in the sandbox ``/.oc/run``."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from composer.errors import EngineError
from composer.runtime.passwd import Account


def control_root() -> Path:
    """Where control directories are: of this user alone. Raises `EngineError` when somebody else made it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    root = Path(runtime) / "composer" if runtime else Path("/tmp") / f"composer-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    found = root.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o77 or not root.is_dir() or root.is_symlink():
        raise EngineError(str(root), "is not a directory of this user alone", "remove it, or set XDG_RUNTIME_DIR")
    return root


def make_control(path: Path, token: bytes, who: Account) -> socket.socket:
    """Make the directory with the token in it; returns the socket on which the agent says that it is ready."""
    path.mkdir(mode=0o700, exist_ok=True)
    write_private(path / "token", token)
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    notify.bind(str(path / "notify"))
    if os.geteuid() == 0:
        for item in (path / "token", path / "notify", path):
            os.chown(item, who.uid, who.gid)
    return notify


def write_private(path: Path, data: bytes) -> None:
    """Write a new file that only its owner can read, from its first byte on."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
