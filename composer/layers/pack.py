"""From entries to a stored layer: tar, diff_id, compression and digest in one pass, in parallel."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from composer.env.built import BuiltEnv
from composer.layers.bins import Bin, assign
from composer.layers.entries import Entry, layer_entries, walk
from composer.layers.layer import Layer
from composer.layers.tar import write_tar
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import OCI, Compression
from composer.store.blobs import BlobStore, BlobWriter
from composer.store.store import Store

Progress = Callable[[str, int, int], None]

_MEMBER = 4 << 20
"""Bytes of tar in one gzip member or zstd frame: what is compressed by itself, so that memory stays bounded."""
_GZIP_LEVEL = 9
_ZSTD_LEVEL = 15
_THREADS = 4


class LayerWriter:
    """Takes a tar's bytes; writes them compressed to a blob, as members of a fixed size (RFC 1952, section 2.2).

    Every reader of gzip reads members one after another (the eStargz format rests on it). They are compressed by
    libdeflate of an exactly pinned version, never the host's zlib, whose builds differ in their output: the same tar
    has the same digest on every machine.
    """

    def __init__(self, blob: BlobWriter, compression: Compression, pool: ThreadPoolExecutor) -> None:
        self._blob = blob
        self._compress = _COMPRESSORS[compression]
        self._pool = pool
        self._hash = hashlib.sha256()
        self._buffer = bytearray()
        self._waiting: deque[Future[bytes]] = deque()
        self.size = 0

    def write(self, data: bytes, /) -> int:
        """Take more of the tar."""
        self._hash.update(data)
        self.size += len(data)
        self._buffer += data
        while len(self._buffer) >= _MEMBER:
            self._submit(bytes(self._buffer[:_MEMBER]))
            del self._buffer[:_MEMBER]
        return len(data)

    def finish(self) -> Digest:
        """Write what is left; returns the diff_id."""
        if self._buffer:
            self._submit(bytes(self._buffer))
        while self._waiting:
            self._blob.write(self._waiting.popleft().result())
        return Digest("sha256:" + self._hash.hexdigest())

    def _submit(self, member: bytes) -> None:
        self._waiting.append(self._pool.submit(self._compress, member))
        while len(self._waiting) > 2 * _THREADS:
            self._blob.write(self._waiting.popleft().result())


def _gzip(data: bytes) -> bytes:
    import deflate

    return bytes(deflate.gzip_compress(data, _GZIP_LEVEL))


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(data)


_COMPRESSORS: dict[Compression, Callable[[bytes], bytes]] = {"gzip": _gzip, "zstd": _zstd, "none": bytes}


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    # hashlib, libdeflate and zstd release the interpreter's lock, so threads do it.
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="pack") as pool:
        yield pool


def pack_entries(entries: Sequence[Entry], blobs: BlobStore, compression: Compression, role: str) -> Layer:
    """Store one layer of ``entries``."""
    with _pool() as pool, blobs.writer() as blob:
        writer = LayerWriter(blob, compression, pool)
        write_tar(entries, writer)
        diff_id = writer.finish()
        digest = blob.commit()
        descriptor = Descriptor(OCI.layer_type(compression), digest, blob.size)
        return Layer(descriptor, diff_id, role, (), writer.size)


def pack_env(env: BuiltEnv, store: Store, compression: Compression, progress: Progress) -> tuple[Layer, ...]:
    """Store the layers of a built environment, two at a time; raises `StoreError`, `DiskFullError`."""
    bins = assign(env.packages)
    owned = {name for each in bins for package in each.packages for name in package.files}
    unowned = [name for name in walk(env.root) if name not in owned]
    done = 0

    def pack(each: Bin) -> Layer:
        nonlocal done
        names = [name for package in each.packages for name in package.files]
        names += unowned if each is bins[0] else []
        packed = pack_entries(layer_entries(env.root, env.prefix, names), store.blobs, compression, each.role)
        done += 1
        progress("pack layers", done, len(bins))
        contents = tuple(f"{package.name} {package.version}" for package in each.packages)
        return Layer(packed.descriptor, packed.diff_id, each.role, contents, packed.unpacked_size)

    progress("pack layers", 0, len(bins))
    with ThreadPoolExecutor(2, thread_name_prefix="layer") as pool:
        return tuple(pool.map(pack, bins))
