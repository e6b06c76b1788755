"""Files. Paths are strings; a name that is not UTF-8 travels with surrogate escapes as bytes in `path`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_stub.wire.schema import entry

Path = str | bytes
FileType = Literal["file", "directory", "symlink", "fifo", "socket", "character", "block"]


@dataclass(frozen=True, slots=True)
class FileRead:
    """Read bytes of a file; they come as the reply's raw frame, or as `data` events when `stream`."""

    path: Path = entry("Absolute, or relative to the image's working directory.")
    offset: int = entry("First byte.", default=0, low=0)
    length: int | None = entry("Bytes at most; nil reads to the end.", default=None, low=0)
    stream: bool = entry("True: pieces come as `data` events.", default=False)


@dataclass(frozen=True, slots=True)
class FileData:
    """A piece of a file; its bytes are the raw frame."""

    offset: int = entry("Where the piece starts.")


@dataclass(frozen=True, slots=True)
class FileReadReply:
    """What was read."""

    size: int = entry("Bytes read.")
    file_size: int = entry("Bytes that the file has.")
    eof: bool = entry("The end of the file was reached.", default=True)


@dataclass(frozen=True, slots=True)
class FileWrite:
    """Write a file from the raw frames: a temporary file beside it, renamed over it; mode and owner are kept."""

    path: Path = entry("Where.")
    append: bool = entry("Add to the end instead.", default=False)
    create_only: bool = entry("Fail with `exists` when there is one.", default=False)
    parents: bool = entry("Make missing directories.", default=True)
    mode: int | None = entry(
        "Permission bits of a new file; nil is 0o644 less the umask.", default=None, low=0, high=0o7777
    )


@dataclass(frozen=True, slots=True)
class FileWriteReply:
    """What was written."""

    size: int = entry("Bytes written.")


@dataclass(frozen=True, slots=True)
class FileStat:
    """Describe a file."""

    path: Path = entry("Which.")
    follow: bool = entry("Describe what a symlink points to.", default=False)


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file's metadata as lstat(2) gives it."""

    name: Path = entry("The last part of its path.")
    type: FileType = entry("What it is.")
    size: int = entry("Bytes.")
    mode: int = entry("Permission bits.")
    uid: int = entry("Owner.")
    gid: int = entry("Group.")
    mtime_ns: int = entry("Last change of content, nanoseconds since the epoch.")
    target: Path | None = entry("What a symlink holds.", default=None)


@dataclass(frozen=True, slots=True)
class FileList:
    """List a directory, by name."""

    path: Path = entry("Which.")
    recursive: bool = entry("Below it too; names are then relative paths.", default=False)
    limit: int = entry("Entries at most.", default=10_000, low=1, high=1_000_000)


@dataclass(frozen=True, slots=True)
class FileListReply:
    """A directory's entries."""

    entries: list[FileInfo] = entry("Sorted by name.")
    truncated: bool = entry("There are more than `limit`.", default=False)


@dataclass(frozen=True, slots=True)
class FileRemove:
    """Remove a file, or a directory with all that is in it when `recursive`."""

    path: Path = entry("Which.")
    recursive: bool = entry("Directories too.", default=False)
    missing_ok: bool = entry("It need not be there.", default=False)


@dataclass(frozen=True, slots=True)
class FileMove:
    """Rename a file or directory, copying where it crosses file systems."""

    source: Path = entry("From.")
    target: Path = entry("To.")
    overwrite: bool = entry("Replace a file that is there.", default=False)


@dataclass(frozen=True, slots=True)
class FileMakeDirectory:
    """Make a directory."""

    path: Path = entry("Which.")
    parents: bool = entry("Make missing parents, and let it exist.", default=True)
    mode: int = entry("Permission bits, less the umask.", default=0o777, low=0, high=0o7777)
