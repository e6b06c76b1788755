"""``oci-archive:FILE`` and ``docker-archive:FILE``: an image in one deterministic tar, whole or not there."""

from __future__ import annotations

import errno
import json
import os
import tarfile
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from composer.bases.stream import HashingReader, unpacked_stream
from composer.errors import ArchiveError, ComposerError, DigestMismatchError, DiskFullError, StoreError
from composer.oci.canonical import compact
from composer.oci.digest import Digest
from composer.oci.mediatype import OCI, compression_of
from composer.plan.values import Plan, PlannedBlob
from composer.progress import Progress
from composer.sinks.sink import BlobReader, Written
from composer.store.layout import REFERENCE_NAME

CONTAINERD_NAME = "io.containerd.image.name"


class _Archive(ABC):
    """The file: what it shares between the two formats."""

    scheme = ""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name

    def has(self, plan: Plan) -> bool:
        """Whether the file holds this image under this name; files appear whole, so their index tells all."""
        try:
            with tarfile.open(self._path, "r:") as archive:
                names, wanted = self._index(plan)
                member = archive.extractfile(names)
                return member is not None and member.read() == wanted
        except (OSError, KeyError, tarfile.TarError):
            return False

    def apply(self, plan: Plan, read: BlobReader, progress: Progress) -> Written:
        """Write beside the destination, then rename over it."""
        moved = 0
        if not self.has(plan):
            with replacing(self._path) as file:
                moved = self.write(file, plan, read, progress)
        return Written(f"{self.scheme}:{self._path}:{self._name}", plan.manifest_digest, plan.config_digest, moved)

    @abstractmethod
    def write(self, file: BinaryIO, plan: Plan, read: BlobReader, progress: Progress) -> int:
        """Write the archive to ``file``; returns the bytes of layers in it."""

    @abstractmethod
    def _index(self, plan: Plan) -> tuple[str, bytes]:
        """The name and bytes of the member that names the image."""


class OciArchive(_Archive):
    """An OCI layout in a tar. Engines with a containerd store load it and keep its digests."""

    scheme = "oci-archive"

    def write(self, file: BinaryIO, plan: Plan, read: BlobReader, progress: Progress) -> int:
        """Blobs first, ``index.json`` last."""
        moved = 0
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            for data in (plan.config, plan.manifest):
                add(tar, f"blobs/sha256/{Digest.of(data).hex}", data)
            for blob in numbered(unique(plan.layers), progress):
                with read(blob) as stream:
                    moved += add_blob(tar, f"blobs/sha256/{blob.descriptor.digest.hex}", blob, stream)
            add(tar, *self._index(plan))
        return moved

    def _index(self, plan: Plan) -> tuple[str, bytes]:
        row: dict[str, Any] = {
            "mediaType": plan.family.manifest,
            "digest": plan.manifest_digest,
            "size": len(plan.manifest),
            "annotations": {CONTAINERD_NAME: self._name, REFERENCE_NAME: self._name},
            "platform": {"architecture": plan.platform.architecture, "os": plan.platform.os},
        }
        return "index.json", compact({"schemaVersion": 2, "mediaType": OCI.index, "manifests": [row]})


class DockerArchive(_Archive):
    """What ``docker load`` reads. gzip layers go in as they are; zstd ones are unpacked, as old engines need it."""

    scheme = "docker-archive"

    def __init__(self, path: Path, name: str, present: int = 0) -> None:
        super().__init__(path, name)
        self._present = present  # so many of the first layers are named only: the engine has them

    def write(self, file: BinaryIO, plan: Plan, read: BlobReader, progress: Progress) -> int:
        """Config, layers under their diff_ids, ``manifest.json`` last."""
        moved = 0
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            add(tar, f"{plan.config_digest.hex}.json", plan.config)
            named = {blob.diff_id for blob in plan.layers[: self._present]}
            for blob in numbered([blob for blob in unique(plan.layers) if blob.diff_id not in named], progress):
                with read(blob) as stream:
                    moved += _add_layer(tar, blob, stream)
            add(tar, *self._index(plan))
        return moved

    def _index(self, plan: Plan) -> tuple[str, bytes]:
        layers = [f"{blob.diff_id.hex}/layer.tar" for blob in plan.layers]
        tag = self._name if ":" in self._name.rpartition("/")[2] else f"{self._name}:latest"
        row = {"Config": f"{plan.config_digest.hex}.json", "RepoTags": [tag], "Layers": layers}
        return "manifest.json", json.dumps([row], separators=(",", ":")).encode()


def unique(layers: tuple[PlannedBlob, ...]) -> list[PlannedBlob]:
    """Layers by diff_id, each once: an image may have an empty layer several times."""
    return list({blob.diff_id: blob for blob in layers}.values())


def numbered(layers: list[PlannedBlob], progress: Progress) -> Iterator[PlannedBlob]:
    """The layers, with progress told in bytes."""
    done, total = 0, sum(blob.descriptor.size for blob in layers)
    for blob in layers:
        progress("write layers", done, total)
        yield blob
        done += blob.descriptor.size
    progress("write layers", total, total)


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a small file."""
    _add_stream(tar, name, len(data), BytesIO(data))


def add_blob(tar: tarfile.TarFile, name: str, blob: PlannedBlob, stream: BinaryIO) -> int:
    """Add a layer's stored bytes, checked; raises `DigestMismatchError`."""
    reader = HashingReader(stream)
    _add_stream(tar, name, blob.descriptor.size, cast(BinaryIO, reader))
    reader.drain()
    _check(blob, reader)
    return reader.size


def _add_layer(tar: tarfile.TarFile, blob: PlannedBlob, stream: BinaryIO) -> int:
    name = f"{blob.diff_id.hex}/layer.tar"
    if compression_of(blob.descriptor.media_type) != "zstd":
        return add_blob(tar, name, blob, stream)
    reader = HashingReader(stream)
    source = str(blob.descriptor.digest)
    with (
        tempfile.TemporaryFile() as spool,
        unpacked_stream(cast(BinaryIO, reader), "zstd", source) as unpacked,
    ):
        while chunk := unpacked.read(1 << 20):
            spool.write(chunk)
        reader.drain()
        _check(blob, reader)
        size = spool.tell()
        spool.seek(0)
        _add_stream(tar, name, size, cast(BinaryIO, spool))
    return reader.size


def _check(blob: PlannedBlob, reader: HashingReader) -> None:
    wanted = blob.descriptor.digest
    if "sha256:" + reader.hexdigest != wanted or reader.size != blob.descriptor.size:
        cause = f"the bytes have the digest sha256:{reader.hexdigest}"
        raise DigestMismatchError(wanted, cause, "get the image again")


def _add_stream(tar: tarfile.TarFile, name: str, size: int, stream: BinaryIO) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    try:
        tar.addfile(member, stream)
    except OSError as error:
        if error.errno is None:  # tarfile's own: the stream ended before `size` bytes
            raise ArchiveError(name, "is shorter than its descriptor says", "get the image again") from error
        raise


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside ``path`` that takes its place at the end, or goes away; raises `DiskFullError`, `StoreError`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except ComposerError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(str(path), "no space is left on the device", "free some and run it again") from error
        cause = f"cannot be written: {error.strerror or error}"
        raise StoreError(str(path), cause, "check the path and its permissions") from error
    finally:
        partial.unlink(missing_ok=True)
