"""Blobs by digest in an OCI layout (image-spec 1.1, image-layout.md), written so that a crash leaves no half of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from composer.errors import DigestMismatchError, StoreError
from composer.oci.digest import Digest
from composer.store.disk import disk_errors
from composer.store.owner import owner

_CHUNK = 1 << 20


class BlobWriter:
    """A blob being written to a temporary file beside its place; `commit` names it by its digest."""

    def __init__(self, store: BlobStore, file: IO[bytes], path: Path) -> None:
        self._store = store
        self._file = file
        self._path = path
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Append ``data``; raises `DiskFullError`."""
        with disk_errors(self._store.root):
            self._file.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    def commit(self, expected: Digest | None = None) -> Digest:
        """Make the blob visible under its digest; raises `DigestMismatchError` when it is not ``expected``."""
        digest = Digest("sha256:" + self._hash.hexdigest())
        if expected is not None and digest != expected:
            raise DigestMismatchError(str(expected), f"the bytes have the digest {digest}", "fetch it again")
        with disk_errors(self._store.root):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._path.chmod(0o644)
            self._path.replace(self._store.path(digest))
        return digest


class BlobStore:
    """The ``blobs`` of one layout directory. Any number of processes may use it at once: blobs appear by rename."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, digest: Digest) -> Path:
        """Where the blob is or would be."""
        return self.root / "blobs" / "sha256" / digest.hex

    def has(self, digest: Digest, size: int | None = None) -> bool:
        """Whether the blob is there, with ``size`` bytes when that is given."""
        try:
            found = self.path(digest).stat().st_size
        except FileNotFoundError:
            return False
        return size is None or found == size

    @contextmanager
    def writer(self) -> Iterator[BlobWriter]:
        """A new blob; without a commit nothing of it stays. A killed process leaves a file under ``tmp`` for prune."""
        with disk_errors(self.root):
            (self.root / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
            (self.root / "tmp").mkdir(parents=True, exist_ok=True)
            file = tempfile.NamedTemporaryFile(prefix=f"blob-{owner()}-", dir=self.root / "tmp", delete=False)
        try:
            yield BlobWriter(self, file.file, Path(file.name))
        finally:
            Path(file.name).unlink(missing_ok=True)
            # A commit has flushed. Without one, what close() would flush is of no use, nor is the disk's error again.
            with suppress(OSError):
                file.close()

    def put(self, data: bytes) -> Digest:
        """Store ``data`` and return its digest."""
        digest = Digest.of(data)
        if not self.has(digest, len(data)):
            with self.writer() as writer:
                writer.write(data)
                writer.commit(digest)
        return digest

    def copy_in(self, source: BinaryIO, expected: Digest) -> int:
        """Store a stream, checked against ``expected``; returns the bytes copied."""
        with self.writer() as writer:
            while chunk := source.read(_CHUNK):
                writer.write(chunk)
            writer.commit(expected)
            return writer.size

    def open(self, digest: Digest) -> BinaryIO:
        """The blob's bytes; raises `StoreError` when it is not there."""
        try:
            return self.path(digest).open("rb")
        except FileNotFoundError:
            raise StoreError(str(digest), f"is not in the store {self.root}", "build it again") from None

    def read(self, digest: Digest) -> bytes:
        """The whole blob, for manifests and configs."""
        with self.open(digest) as file:
            return file.read()

    def digests(self) -> Iterator[Digest]:
        """Every blob that is there."""
        folder = self.root / "blobs" / "sha256"
        for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
            yield Digest("sha256:" + name)

    def verify(self) -> list[Digest]:
        """Read everything; the digests whose bytes do not match."""
        return [digest for digest in self.digests() if _digest_of(self.path(digest)) != digest]


def _digest_of(path: Path) -> Digest:
    with path.open("rb") as file:
        return Digest("sha256:" + hashlib.file_digest(file, "sha256").hexdigest())
