"""What the embedded engine keeps of each sandbox: a folder in the store, locked for as long as the sandbox lives."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from composer.errors import SandboxNotFoundError, UsageError
from composer.runtime.control import control_root
from composer.store.lock import locked
from composer.store.store import Store


@dataclass(frozen=True, slots=True)
class SandboxFolder:
    """``store/sandboxes/NAME``: state.json (image, endpoint, token), log, lock, shim.json and overlay's upper."""

    store: Store
    name: str

    @property
    def path(self) -> Path:
        """The folder."""
        return self.store.root / "sandboxes" / self.name

    @property
    def control(self) -> Path:
        """The control directory on the host: short, since a socket's whole path has at most 107 bytes (unix(7))."""
        short = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
        return control_root() / short

    def create(self) -> int:
        """Make the folder and lock it; returns the descriptor that holds the lock. Raises `UsageError`."""
        if not self.name.replace("-", "a").replace("_", "a").replace(".", "a").isalnum() or not self.name[0].isalnum():
            raise UsageError(self.name, "is no name for a sandbox", "use letters, digits, '-', '_' and '.'")
        with locked(self.store.root / "locks" / "sandboxes"):
            for other in sandbox_folders(self.store):
                if not other.alive():
                    other.sweep()  # its shim was killed, and its container may still run
            try:
                self.path.mkdir(mode=0o700)
            except FileExistsError:
                raise UsageError(self.name, "a sandbox has this name", f"composer down {self.name}") from None
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
        return handle

    def alive(self) -> bool:
        """Whether its shim runs: it holds the lock."""
        try:
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def save(self, state: dict[str, Any]) -> None:
        """Write state.json, for its owner only."""
        partial = self.path / ".state.json"
        partial.touch(mode=0o600)
        partial.write_text(json.dumps(state))
        partial.replace(self.path / "state.json")

    def load(self) -> dict[str, Any]:
        """Read state.json; raises `SandboxNotFoundError`."""
        try:
            found: dict[str, Any] = json.loads((self.path / "state.json").read_text())
        except (FileNotFoundError, NotADirectoryError):
            raise SandboxNotFoundError(self.name, "no sandbox has this name", "composer ls shows them") from None
        return found

    def end(self, grace: float) -> None:
        """End the shim and wait until it has removed everything; then remove what a killed shim left."""
        with contextlib.suppress(OSError, ValueError):
            (self.path / "grace").write_text(str(grace))
            handle = os.pidfd_open(int((self.path / "shim.pid").read_text()))
            try:
                if self.alive():  # checked after the pidfd was opened, so the number cannot be another process's
                    signal.pidfd_send_signal(handle, signal.SIGTERM)
            finally:
                os.close(handle)
        with contextlib.suppress(FileNotFoundError), locked_existing(self.path / "lock"):
            pass
        self.sweep()

    def sweep(self) -> None:
        """Remove what is left of a sandbox whose shim was killed: its container, control directory and folder."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            plan = json.loads((self.path / "shim.json").read_text())
            if plan["delete"]:
                subprocess.run(plan["delete"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
        with contextlib.suppress(OSError, ValueError):
            pid, started = (self.path / "container").read_text().split()
            _kill(int(pid), started)
        shutil.rmtree(self.control, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)


def _kill(pid: int, started: str) -> None:
    """KILL the process when it is still the one that began at ``started`` (proc(5), stat, field 22)."""
    handle = os.pidfd_open(pid)
    try:
        if Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19] == started:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked_existing(path: Path) -> Iterator[None]:
    """Wait for the lock of a file that must be there; raises `FileNotFoundError`."""
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sandbox_folders(store: Store) -> list[SandboxFolder]:
    """Every sandbox of this store, dead ones too."""
    root = store.root / "sandboxes"
    return [SandboxFolder(store, name) for name in sorted(os.listdir(root)) if (root / name).is_dir()]
