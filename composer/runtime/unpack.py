"""Layers as directories, unpacked once per diff_id and shared by all sandboxes as overlay's lower directories."""

from __future__ import annotations

import errno
import gzip
import hashlib
import shutil
import tarfile
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, cast

from composer.errors import ArchiveError, DigestMismatchError, DiskFullError, StoreError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.runtime.tree import Tree
from composer.store.lock import locked
from composer.store.store import Store

_CHUNK = 1 << 20


class _Hashed:
    """A file that keeps the digest of what was read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.hash.update(data)
        return data


def unpacked(store: Store, layer: Descriptor, diff_id: Digest) -> Path:
    """The layer as a directory, made when it is not there yet; raises `ArchiveError`, `DiskFullError`, `StoreError`.

    It appears by rename under a lock, so a killed process leaves no half of one.
    """
    target = store.root / "unpacked" / diff_id.hex
    if target.is_dir():
        return target
    with locked(store.root / "locks" / f"unpack-{diff_id.hex}"):
        if not target.is_dir():
            partial = target.with_name(f".{diff_id.hex}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            try:
                partial.mkdir(mode=0o755)
                _unpack(store, layer, diff_id, partial)
                partial.rename(target)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
    return target


def unpacked_all(store: Store, layers: Sequence[tuple[Descriptor, Digest]]) -> list[Path]:
    """Every layer of ``layers`` as a directory, in the same order, two at a time."""
    missing = [pair for pair in layers if not (store.root / "unpacked" / pair[1].hex).is_dir()]
    if missing:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda pair: unpacked(store, *pair), missing))
    return [store.root / "unpacked" / diff_id.hex for _, diff_id in layers]


def _unpack(store: Store, layer: Descriptor, diff_id: Digest, target: Path) -> None:
    name = str(layer.digest)
    with ExitStack() as stack:
        blob = stack.enter_context(store.blobs.open(layer.digest))
        source = _Hashed(stack.enter_context(_decompressed(blob, layer.media_type)))
        tree = stack.enter_context(Tree(target))
        try:
            with tarfile.open(fileobj=cast("IO[bytes]", source), mode="r|", bufsize=_CHUNK, errorlevel=2) as archive:
                for member in archive:
                    tree.add(member, archive)
            while source.read(_CHUNK):
                pass  # the padding after the end belongs to the diff_id
            tree.finish()
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as error:
            raise ArchiveError(name, f"the layer cannot be read: {error}", "build or pull the image again") from error
        except OSError as error:
            raise _mapped(name, error) from error
    if source.hash.hexdigest() != diff_id.hex:
        cause = f"the layer's tar has the digest sha256:{source.hash.hexdigest()}, the config says {diff_id}"
        raise DigestMismatchError(name, cause, "build or pull the image again")


def _mapped(name: str, error: OSError) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(name, "no space is left to unpack the layer", "free some and run it again")
    if error.errno in (errno.EXDEV, errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ENOENT, errno.EEXIST):
        return ArchiveError(name, f"an entry cannot be placed: {error}", "use another image")
    return StoreError(name, f"cannot be unpacked: {error}", "check the store's permissions and file system")


def _decompressed(blob: IO[bytes], media_type: str) -> IO[bytes]:
    if "zstd" in media_type:
        import zstandard

        return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(blob, read_across_frames=True))
    if "gzip" in media_type:
        return cast("IO[bytes]", gzip.GzipFile(fileobj=blob, mode="rb"))
    return blob
