"""All of an output in a file, from the moment that a window no longer holds it."""

from __future__ import annotations

import os
import shutil
import tempfile

_LARGEST = 1 << 30


class Spill:
    """A file that is made when the first byte is omitted; without a writable place there is none, which is no error.

    Past 1 GiB no more is written. The file stays for the reader; the folder is private to the agent's user.
    """

    def __init__(self, folder: SpillFolder) -> None:
        self._folder = folder
        self._kept: bytearray | None = bytearray()
        self._file: int | None = None
        self._size = 0
        self.path: str | None = None

    def write(self, data: bytes, *, omitting: bool) -> None:
        """Take more of the stream; ``omitting`` says that the window has lost some of it."""
        if self._file is None and self._kept is not None:
            self._kept += data
            if omitting:
                self._open()
        elif self._file is not None and self._size < _LARGEST:
            self._append(data)

    def close(self) -> None:
        """End the file; it can be read afterwards."""
        self._kept = None
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        kept, self._kept = self._kept or bytearray(), None
        folder = self._folder.path()
        if folder is None:
            return
        try:
            self._file, self.path = tempfile.mkstemp(prefix="output-", dir=folder)
        except OSError:
            return
        self._append(bytes(kept))

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        try:
            self._size += os.write(self._file, data)
        except OSError:  # a full disk: what is there stays
            os.close(self._file)
            self._file, self._kept = None, None


class SpillFolder:
    """A 0700 folder for spill files, made at the first need: in TMPDIR, /tmp, /var/tmp or /dev/shm."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._tried = False

    def path(self) -> str | None:
        """The folder, None where nothing is writable."""
        if not self._tried:
            self._tried = True
            for parent in (os.environ.get("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"):
                if parent is None:
                    continue
                try:
                    self._path = tempfile.mkdtemp(prefix="agent-", dir=parent)
                    break
                except OSError:
                    continue
        return self._path

    def remove(self) -> None:
        """Remove the folder and what is in it, at the agent's end."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path, self._tried = None, False
