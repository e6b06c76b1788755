"""File operations. What may block (a big file, a slow file system) runs in a thread: the loop waits for no disk."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence

from agent_stub.exchange.call import Answer, Call
from agent_stub.wire.operations.core import Empty
from agent_stub.wire.operations.file import (
    FileData,
    FileInfo,
    FileList,
    FileListReply,
    FileMakeDirectory,
    FileMove,
    FileRead,
    FileReadReply,
    FileRemove,
    FileStat,
    FileType,
    FileWrite,
    FileWriteReply,
)

_PIECE = 1 << 20
_TYPES: tuple[tuple[Callable[[int], bool], FileType], ...] = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "symlink"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character"),
    (stat.S_ISBLK, "block"),
)


class Files:
    """Handlers of ``file.*``."""

    async def read(self, body: FileRead, call: Call) -> Answer:
        """Bytes of a file, whole or in pieces."""
        loop = asyncio.get_running_loop()

        def give(offset: int, data: bytes) -> None:
            loop.call_soon_threadsafe(call.emit, "data", FileData(offset), data)

        pieces: list[bytes] = []
        reply = await asyncio.to_thread(_read, body, give if body.stream else lambda _o, data: pieces.append(data))
        return Answer(reply) if body.stream else Answer(reply, b"".join(pieces))

    async def write(self, body: FileWrite, call: Call) -> Answer:
        """Replace, make or append to a file."""
        raw: Sequence[bytes] = getattr(call, "raw", ())
        return Answer(FileWriteReply(await asyncio.to_thread(_write, body, raw)))

    async def stat(self, body: FileStat, _call: Call) -> Answer:
        """Describe one file."""
        path = os.fsencode(body.path)
        status = os.stat(path) if body.follow else os.lstat(path)
        return Answer(_info(path, os.path.basename(path.rstrip(b"/")) or b"/", status))

    async def list(self, body: FileList, _call: Call) -> Answer:
        """Describe the entries of a directory."""
        return Answer(await asyncio.to_thread(_list, body))

    async def remove(self, body: FileRemove, _call: Call) -> Answer:
        """Remove a file or a tree."""
        await asyncio.to_thread(_remove, body)
        return Answer(Empty())

    async def move(self, body: FileMove, _call: Call) -> Answer:
        """Rename, across file systems too."""
        await asyncio.to_thread(_move, body)
        return Answer(Empty())

    async def mkdir(self, body: FileMakeDirectory, _call: Call) -> Answer:
        """Make a directory."""
        path = os.fsencode(body.path)
        if body.parents:
            os.makedirs(path, body.mode, exist_ok=True)
        else:
            os.mkdir(path, body.mode)
        return Answer(Empty())


def _read(body: FileRead, give: Callable[[int, bytes], None]) -> FileReadReply:
    # O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever (fifo(7)).
    handle = os.open(os.fsencode(body.path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb", buffering=0) as file:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), body.path)
        if body.offset:
            file.seek(body.offset)
        done, eof = 0, False
        while body.length is None or done < body.length:
            piece = file.read(_PIECE if body.length is None else min(_PIECE, body.length - done))
            if not piece:
                eof = True
                break
            give(body.offset + done, piece)
            done += len(piece)
        eof = eof or (stat.S_ISREG(status.st_mode) and body.offset + done >= status.st_size)
        return FileReadReply(size=done, file_size=status.st_size, eof=eof)


def _write(body: FileWrite, raw: Sequence[bytes]) -> int:
    path = os.path.realpath(os.fsencode(body.path))
    folder = os.path.dirname(path)
    if body.parents:
        os.makedirs(folder, exist_ok=True)
    if body.append:
        with open(path, "ab") as file:
            return sum(file.write(piece) for piece in raw)
    try:
        status: os.stat_result | None = os.lstat(path)
    except FileNotFoundError:
        status = None
    if status is not None and body.create_only:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), body.path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        return _write_in_place(path, raw)
    try:
        handle, partial = tempfile.mkstemp(prefix=b".agent-", dir=folder)
    except PermissionError:
        # The directory may not be written to, but the file may: no rename is possible then.
        return _write_in_place(path, raw)
    try:
        with open(handle, "wb") as file:
            size = sum(file.write(piece) for piece in raw)
            _adopt(handle, status, body.mode)
        if body.create_only:
            os.link(partial, path)
        else:
            os.replace(partial, path)
            return size
    finally:
        if os.path.lexists(partial):
            os.unlink(partial)
    return size


def _write_in_place(path: bytes, raw: Sequence[bytes]) -> int:
    with open(path, "r+b", buffering=0) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate()
        return sum(file.write(piece) or 0 for piece in raw)


def _adopt(handle: int, status: os.stat_result | None, mode: int | None) -> None:
    """Give a new file the mode and owner of the one that it replaces, or the mode asked for."""
    if status is None:
        os.fchmod(handle, mode if mode is not None else 0o666 & ~_umask())
        return
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(handle, status.st_uid, status.st_gid)
        except PermissionError:
            pass
    os.fchmod(handle, stat.S_IMODE(status.st_mode) if mode is None else mode)


def _umask() -> int:
    value = os.umask(0o022)
    os.umask(value)
    return value


def _list(body: FileList) -> FileListReply:
    found: list[FileInfo] = []
    truncated = False
    root = os.fsencode(body.path)
    for name in _names(root, recursive=body.recursive):
        if len(found) == body.limit:
            truncated = True
            break
        try:
            found.append(_info(os.path.join(root, name), name, os.lstat(os.path.join(root, name))))
        except FileNotFoundError:
            continue
    return FileListReply(entries=found, truncated=truncated)


def _names(root: bytes, *, recursive: bool) -> Iterator[bytes]:
    if not recursive:
        yield from sorted(os.listdir(root))
        return
    os.scandir(root).close()
    for folder, folders, files in os.walk(root):
        folders.sort()
        below = os.path.relpath(folder, root)
        for name in sorted([*folders, *files]):
            yield name if below == b"." else os.path.join(below, name)


def _info(path: bytes, name: bytes, status: os.stat_result) -> FileInfo:
    kind: FileType = next((kind for test, kind in _TYPES if test(status.st_mode)), "file")
    return FileInfo(
        name=_text(name),
        type=kind,
        size=status.st_size,
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        mtime_ns=status.st_mtime_ns,
        target=_text(os.readlink(path)) if kind == "symlink" else None,
    )


def _text(name: bytes) -> str | bytes:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name


def _remove(body: FileRemove) -> None:
    path = os.fsencode(body.path)
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path) if body.recursive else os.rmdir(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        if not body.missing_ok:
            raise


def _move(body: FileMove) -> None:
    source, target = os.fsencode(body.source), os.fsencode(body.target)
    os.lstat(source)
    if os.path.lexists(target) and not body.overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), body.target)
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(os.fsdecode(source), os.fsdecode(target))
