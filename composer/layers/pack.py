"""From entries to a stored layer: tar, diff_id, compression and digest in one pass, in parallel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from composer.env.built import BuiltEnv
from composer.layers.bins import Bin, assign, divide
from composer.layers.entries import Entry, layer_entries, walk
from composer.layers.layer import Layer
from composer.layers.tar import write_tar
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import OCI, Compression
from composer.progress import Progress
from composer.store.blobs import BlobStore, BlobWriter
from composer.store.store import Store

_GZIP_LEVEL = 9  # core on 2 cores: level 6 18.8 MB in 1.0 s, 9 18.7 MB in 1.8 s, 10 18.2 MB in 4.3 s
_ZSTD_LEVEL = 15


class LayerWriter:
    """Takes a tar's bytes; writes them compressed to a blob, as one gzip member (RFC 1952) or zstd frame (RFC 8878).

    gzip is libdeflate's, of an exactly pinned version, never the host's zlib, whose builds differ in their output: the
    same tar has the same digest on every machine. It compresses a buffer at once, so a layer is held in memory; several
    members would bound that, but simple readers (``tarfile``'s streams, ``zlib.decompress``) stop after the first.
    """

    def __init__(self, blob: BlobWriter, compression: Compression) -> None:
        self._blob = blob
        self._hash = hashlib.sha256()
        self._encoder: Encoder = _ENCODERS[compression]()
        self.size = 0

    def write(self, data: bytes, /) -> int:
        """Take more of the tar."""
        self._hash.update(data)
        self.size += len(data)
        self._blob.write(self._encoder.compress(data))
        return len(data)

    def finish(self) -> Digest:
        """Write what is left; returns the diff_id."""
        self._blob.write(self._encoder.flush())
        return Digest("sha256:" + self._hash.hexdigest())


class Encoder(Protocol):
    """A compression in progress."""

    def compress(self, data: bytes, /) -> bytes:
        """Take more, and give what is ready."""
        ...

    def flush(self) -> bytes:
        """Give the rest."""
        ...


class _Gzip:
    def __init__(self) -> None:
        self._buffer = bytearray()

    def compress(self, data: bytes, /) -> bytes:
        self._buffer += data
        return b""

    def flush(self) -> bytes:
        import deflate

        return bytes(deflate.gzip_compress(self._buffer, _GZIP_LEVEL))


class _Plain:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def _zstd() -> Encoder:
    import zstandard

    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj()


_ENCODERS: dict[Compression, Callable[[], Encoder]] = {"gzip": _Gzip, "zstd": _zstd, "none": _Plain}


def pack_entries(entries: Sequence[Entry], blobs: BlobStore, compression: Compression, role: str) -> Layer:
    """Store one layer of ``entries``."""
    with blobs.writer() as blob:
        writer = LayerWriter(blob, compression)
        write_tar(entries, writer)
        diff_id = writer.finish()
        digest = blob.commit()
        descriptor = Descriptor(OCI.layer_type(compression), digest, blob.size)
        return Layer(descriptor, diff_id, role, (), writer.size)


def pack_env(env: BuiltEnv, store: Store, compression: Compression, progress: Progress) -> tuple[Layer, ...]:
    """Store the layers of a built environment, two at a time; raises `StoreError`, `DiskFullError`."""
    parts = divide(assign(env.packages), walk(env.root))
    done = 0

    def pack(part: tuple[Bin, tuple[str, ...]]) -> Layer:
        nonlocal done
        each, names = part
        packed = pack_entries(layer_entries(env.root, env.prefix, names), store.blobs, compression, each.role)
        done += 1
        progress("pack layers", done, len(parts))
        contents = tuple(f"{package.name} {package.version}" for package in each.packages)
        return Layer(packed.descriptor, packed.diff_id, each.role, contents, packed.unpacked_size)

    progress("pack layers", 0, len(parts))
    with ThreadPoolExecutor(2, thread_name_prefix="layer") as pool:
        return tuple(pool.map(pack, parts))
