"""Layers as streams: what compresses them, and their tar."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Literal

from composer.errors import ArchiveError

Packing = Literal["none", "gzip", "zstd", "xz", "bzip2"]
_MAGIC: tuple[tuple[bytes, Packing], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
)


def packing_of(head: bytes) -> Packing:
    """How a file is compressed, from its first bytes."""
    return next((packing for magic, packing in _MAGIC if head.startswith(magic)), "none")


class HashingReader:
    """Reads a stream and knows the sha256 and number of the bytes that went by."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        """Read up to ``size`` bytes."""
        data = self._stream.read(size)
        self._hash.update(data)
        self.size += len(data)
        return data

    def drain(self) -> None:
        """Read to the end."""
        while self.read(1 << 20):
            pass

    @property
    def hexdigest(self) -> str:
        """The sha256 so far."""
        return self._hash.hexdigest()


@contextmanager
def unpacked_stream(stream: BinaryIO, packing: Packing, source: str) -> Iterator[BinaryIO]:
    """The tar inside a compressed stream; a fault of the compression becomes an `ArchiveError` naming ``source``."""
    try:
        yield _open(stream, packing)
    except _faults() as error:
        raise ArchiveError(source, f"is truncated or corrupt ({error})", "fetch it again") from error


def _faults() -> tuple[type[Exception], ...]:
    """What the decompressors raise; zstandard's own only when it was imported."""
    known = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
    zstandard = sys.modules.get("zstandard")
    return (*known, zstandard.ZstdError) if zstandard else known


def _open(stream: BinaryIO, packing: Packing) -> BinaryIO:
    if packing == "gzip":
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if packing == "xz":
        return lzma.LZMAFile(stream)  # type: ignore[return-value]
    if packing == "bzip2":
        return bz2.BZ2File(stream)  # type: ignore[return-value]
    if packing == "zstd":
        import zstandard

        return zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
    return stream
