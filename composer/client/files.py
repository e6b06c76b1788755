"""Files of the sandbox. Large ones travel in pieces, so that neither side holds them whole."""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import AsyncIterator

from agent_stub.wire.operations.file import (
    FileInfo,
    FileList,
    FileListReply,
    FileMakeDirectory,
    FileMove,
    FileRead,
    FileRemove,
    FileStat,
    FileWrite,
    Path,
)
from agent_stub.wire.schema import parse
from composer.client.agent import Agent
from composer.errors import AgentError

PIECE = 4 << 20  # bytes of a request or reply


class Files:
    """File operations; paths are absolute, or relative to the image's working directory.

    All raise `AnsweredError` with the codes ``not_found``, ``exists``, ``permission``, ``no_space`` or ``io``.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def read(self, path: Path, *, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file from ``offset``, ``length`` at most."""
        return b"".join([piece async for piece in self.read_pieces(path, offset=offset, length=length)])

    async def read_text(self, path: Path) -> str:
        """A file as UTF-8 text; raises ``UnicodeDecodeError`` for one that is none."""
        return (await self.read(path)).decode()

    async def read_pieces(self, path: Path, *, offset: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """The bytes of a file in pieces of at most 4 MiB; a file that grows meanwhile is read on to its new end."""
        left = length
        while left is None or left > 0:
            wanted = PIECE if left is None else min(PIECE, left)
            reply = await self._agent.call("file.read", FileRead(path, offset, wanted))
            data = b"".join(reply.raw)
            if data:
                yield data
            offset += len(data)
            left = None if left is None else left - len(data)
            if not data or reply.body.get("eof", True):
                return

    async def write(self, path: Path, data: bytes | str, *, mode: int | None = None, create_only: bool = False) -> None:
        """Write a whole file, atomically: readers see the old content or the new; missing directories are made.

        ``mode`` are the permission bits of a new file. Raises `AnsweredError` ``exists`` with ``create_only``.
        """
        content = data.encode() if isinstance(data, str) else data
        if len(content) <= PIECE:
            await self._agent.call("file.write", FileWrite(path, create_only=create_only, mode=mode), content)
        else:
            await self._write_large(path, content, mode, create_only=create_only)

    async def append(self, path: Path, data: bytes | str) -> None:
        """Add to the end of a file, which is made when there is none."""
        content = memoryview(data.encode() if isinstance(data, str) else data)
        for start in range(0, max(len(content), 1), PIECE):
            await self._agent.call("file.write", FileWrite(path, append=True), bytes(content[start : start + PIECE]))

    async def stat(self, path: Path, *, follow: bool = False) -> FileInfo:
        """A file's metadata; of what a symlink points to with ``follow``."""
        return parse(FileInfo, (await self._agent.call("file.stat", FileStat(path, follow))).body)

    async def exists(self, path: Path) -> bool:
        """Whether there is something at ``path``."""
        try:
            await self.stat(path)
        except AgentError as error:
            if error.code != "not_found":
                raise
            return False
        return True

    async def list(self, path: Path, *, recursive: bool = False, limit: int = 10_000) -> list[FileInfo]:
        """A directory's entries by name, ``limit`` at most."""
        reply = await self._agent.call("file.list", FileList(path, recursive, limit))
        return parse(FileListReply, reply.body).entries

    async def remove(self, path: Path, *, recursive: bool = False, missing_ok: bool = False) -> None:
        """Remove a file, or a directory with all that is in it when ``recursive``."""
        await self._agent.call("file.remove", FileRemove(path, recursive, missing_ok))

    async def move(self, source: Path, target: Path, *, overwrite: bool = False) -> None:
        """Rename a file or directory."""
        await self._agent.call("file.move", FileMove(source, target, overwrite))

    async def mkdir(self, path: Path, *, parents: bool = True, mode: int = 0o777) -> None:
        """Make a directory."""
        await self._agent.call("file.mkdir", FileMakeDirectory(path, parents, mode))

    async def _write_large(self, path: Path, content: bytes, mode: int | None, *, create_only: bool) -> None:
        """Append to a new file beside the target, then move it there."""
        if create_only and await self.exists(path):
            await self._agent.call("file.write", FileWrite(path, create_only=True))  # the agent's own answer
        if mode is None and await self.exists(path):
            mode = (await self.stat(path, follow=True)).mode
        part = _beside(path, f".{secrets.token_hex(8)}.part")
        view = memoryview(content)
        try:
            for start in range(0, len(content), PIECE):
                body = FileWrite(part, append=start > 0, create_only=start == 0, mode=mode)
                await self._agent.call("file.write", body, bytes(view[start : start + PIECE]))
            await self.move(part, path, overwrite=not create_only)
        except BaseException:
            await self.remove(part, missing_ok=True)
            raise


def _beside(path: Path, name: str) -> Path:
    if isinstance(path, bytes):
        return posixpath.join(posixpath.dirname(path), name.encode())
    return posixpath.join(posixpath.dirname(path), name)
