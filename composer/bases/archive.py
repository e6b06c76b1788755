"""``oci-archive:FILE[:NAME]`` and ``docker-archive:FILE[:NAME]``: images in a tar, read in place or by import."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from composer.bases.base import BaseImage
from composer.bases.conflict import check_layers
from composer.bases.image import platforms, resolve_image
from composer.bases.imported import ImportedLayers
from composer.bases.scan import scan_once
from composer.bases.stream import packing_of
from composer.errors import ArchiveError, BaseNotFoundError, PlatformError
from composer.oci.canonical import LIMIT
from composer.oci.config import Config
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.index import matches, parse_index
from composer.oci.mediatype import DOCKER, Compression
from composer.oci.platform import Platform
from composer.plan.append import render_manifest
from composer.store.layout import REFERENCE_NAME
from composer.store.store import Store


class ArchiveFile:
    """A tar whose members can be read at random; compressed ones are refused, since they would be read many times."""

    def __init__(self, path: Path, source: str) -> None:
        self.source = source
        try:
            self._tar = tarfile.open(path, "r:")
            self._members = {member.name.removeprefix("./"): member for member in self._tar}
        except OSError as error:
            raise BaseNotFoundError(source, error.strerror or "cannot be read", "name an image archive") from error
        except tarfile.TarError as error:
            raise ArchiveError(source, f"is not a plain tar ({error})", "decompress it, or save it again") from error

    def close(self) -> None:
        """Close the file."""
        self._tar.close()

    def open(self, name: str) -> BinaryIO:
        """A member's bytes, links between members followed; raises `ArchiveError`."""
        member = self._members.get(name)
        if member is not None and member.issym():
            target = Path(name).parent / member.linkname
            member = self._members.get(_normal(target))
        file = self._tar.extractfile(member) if member is not None and not member.issym() else None
        if file is None:
            raise ArchiveError(self.source, f"has no {name}", "save the image again")
        return cast(BinaryIO, file)

    def read(self, name: str) -> bytes:
        """A small member, at most 4 MiB and a byte."""
        with self.open(name) as file:
            return file.read(LIMIT + 1)


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


class OciArchiveBase:
    """An OCI layout in a tar."""

    def __init__(self, path: Path, name: str | None, store: Store, source: str) -> None:
        self._path = path
        self._name = name
        self._store = store
        self._source = source

    def resolve(self, platform: Platform) -> BaseImage:
        """Read index, manifest and config."""
        with self._opened() as archive:
            return resolve_image(self._top(archive), lambda d: archive.read(_blob(d)), platform, self._source)

    @contextmanager
    def open_layer(self, layer: Descriptor) -> Iterator[BinaryIO]:
        """The member's bytes."""
        with self._opened() as archive, archive.open(_blob(layer)) as file:
            yield file

    def check_prefix(self, image: BaseImage, prefix: str) -> None:
        """Scan the layers, each once."""
        with self._opened() as archive:
            check_layers(image, prefix, self._store, lambda layer: archive.open(_blob(layer)))

    def platforms(self) -> Iterator[Platform]:
        """Those of the index, or of the image."""
        with self._opened() as archive:
            yield from platforms(self._top(archive), lambda d: archive.read(_blob(d)), self._source)

    @contextmanager
    def _opened(self) -> Iterator[ArchiveFile]:
        archive = ArchiveFile(self._path, self._source)
        try:
            yield archive
        finally:
            archive.close()

    def _top(self, archive: ArchiveFile) -> Descriptor:
        rows = parse_index(archive.read("index.json"), self._source)
        named = [row for row in rows if self._name in (None, row.annotations.get(REFERENCE_NAME))]
        if len(named) == 1:
            return named[0]
        names = ", ".join(row.annotations.get(REFERENCE_NAME, str(row.digest)) for row in rows)
        raise BaseNotFoundError(
            self._source, f"has {len(rows)} images: {names or 'none'}", "name one of them: oci-archive:FILE:NAME"
        )


def _blob(descriptor: Descriptor) -> str:
    return f"blobs/sha256/{descriptor.digest.hex}"


class DockerArchiveBase(ImportedLayers):
    """What ``docker save`` writes: manifest.json, a config, layers by path, which are imported into the store."""

    def __init__(self, path: Path, name: str | None, store: Store, source: str) -> None:
        self._path = path
        self._name = name
        self._store = store
        self._source = source

    def resolve(self, platform: Platform) -> BaseImage:
        """Read the config and import the layers that the store has not; raises as the other bases do."""
        archive = ArchiveFile(self._path, self._source)
        try:
            entry = self._entry(archive)
            data = archive.read(str(entry.get("Config")))
            config = Config.parse(data, self._source)
            if not matches(config.platform, platform):
                cause = f"is for {config.platform}, not {platform}"
                raise PlatformError(self._source, cause, f"build with --platform {config.platform}")
            names = entry.get("Layers")
            if not isinstance(names, list) or len(names) != len(config.diff_ids):
                raise ArchiveError(self._source, "names other layers than its config", "save the image again")
            layers = tuple(
                self._layer(archive, str(name), diff_id) for name, diff_id in zip(names, config.diff_ids, strict=True)
            )
        finally:
            archive.close()
        manifest = render_manifest(DOCKER, data, list(layers))
        return BaseImage(
            self._source, config.platform, DOCKER, Digest.of(manifest), manifest, data, layers, config.diff_ids
        )

    def platforms(self) -> Iterator[Platform]:
        """The image's."""
        archive = ArchiveFile(self._path, self._source)
        try:
            yield Config.parse(archive.read(str(self._entry(archive).get("Config"))), self._source).platform
        finally:
            archive.close()

    def _entry(self, archive: ArchiveFile) -> dict[str, Any]:
        try:
            rows = json.loads(archive.read("manifest.json"))
        except (ValueError, RecursionError) as error:
            raise ArchiveError(self._source, f"its manifest.json is not JSON: {error}", "save it again") from error
        images: list[dict[str, Any]] = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        found = [row for row in images if self._name is None or self._name in (row.get("RepoTags") or [])]
        if len(found) == 1:
            return found[0]
        tags = ", ".join(str(tag) for row in images for tag in row.get("RepoTags") or ["untagged"])
        raise BaseNotFoundError(
            self._source, f"has {len(images)} images: {tags or 'none'}", "name one of them: docker-archive:FILE:NAME"
        )

    def _layer(self, archive: ArchiveFile, name: str, diff_id: Digest) -> Descriptor:
        """The descriptor of a layer, imported when it is new. An uncompressed one is known by its diff_id."""
        if self._store.blobs.has(diff_id):
            size = self._store.blobs.path(diff_id).stat().st_size
            return Descriptor(DOCKER.layer_type("none"), diff_id, size)
        with archive.open(name) as stream, self._store.blobs.writer() as blob:
            head = stream.read(16)
            packing = packing_of(head)
            compression: Compression = packing if packing in ("gzip", "zstd") else "none"
            blob.write(head)
            while chunk := stream.read(1 << 20):
                blob.write(chunk)
            digest = blob.commit()
            descriptor = Descriptor(DOCKER.layer_type(compression), digest, blob.size)
        opened = lambda: self._store.blobs.open(digest)  # noqa: E731
        if scan_once(self._store, digest, opened, compression, self._source).diff_id != diff_id:
            raise ArchiveError(self._source, f"has a layer that is not {diff_id}", "save the image again")
        return descriptor
