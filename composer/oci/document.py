"""Reading the JSON documents of an image: bounded, checked once, unknown fields kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

from composer.errors import ArchiveError, UnsupportedError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import DOCKER, OCI, SCHEMA_1, Family, family_of
from composer.oci.platform import Platform

LIMIT = 4 << 20
"""Bytes of a manifest, index or config (the distribution specification asks registries for 4 MiB)."""


def parse_json(data: bytes, source: str) -> dict[str, Any]:
    """A JSON object; raises `ArchiveError` for anything else, and for more than `LIMIT` bytes."""
    if len(data) > LIMIT:
        raise ArchiveError(source, f"has {len(data)} bytes, more than {LIMIT}", "this is no manifest or config")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(source, f"is not JSON: {error}", "fetch it again") from error
    if not isinstance(value, dict):
        raise ArchiveError(source, "is not a JSON object", "fetch it again")
    return value


@dataclass(frozen=True, slots=True)
class Manifest:
    """An image manifest (image-spec 1.1, manifest.md; Docker's schema 2)."""

    family: Family
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @classmethod
    def parse(cls, data: bytes, source: str, media_type: str = "") -> Self:
        """Read a manifest; raises `UnsupportedError` for schema 1, `ArchiveError` for what is none."""
        value = parse_json(data, source)
        media_type = value.get("mediaType") or media_type
        if media_type in SCHEMA_1 or value.get("schemaVersion") == 1:
            raise UnsupportedError(source, "is a schema 1 manifest", "push the image again with a current engine")
        if not isinstance(value.get("config"), dict) or not isinstance(value.get("layers"), list):
            raise ArchiveError(source, "is not an image manifest", "name an image, not another artifact")
        config = Descriptor.parse(value["config"], source)
        layers = tuple(Descriptor.parse(row, source) for row in value["layers"])
        family = family_of(str(media_type)) or family_of(config.media_type) or OCI
        return cls(family, config, layers)


@dataclass(frozen=True, slots=True)
class Index:
    """An image index (image-spec 1.1, image-index.md) or Docker's manifest list."""

    family: Family
    manifests: tuple[tuple[Descriptor, Platform | None], ...]

    @classmethod
    def parse(cls, data: bytes, source: str) -> Self:
        """Read an index; raises `ArchiveError`."""
        value = parse_json(data, source)
        rows = value.get("manifests")
        if not isinstance(rows, list):
            raise ArchiveError(source, "is not an index", "name an image")
        family = DOCKER if value.get("mediaType") == DOCKER.index else OCI
        return cls(family, tuple((d := Descriptor.parse(row, source), _platform(d)) for row in rows))


@dataclass(frozen=True, slots=True)
class Config:
    """An image's config (image-spec 1.1, config.md): its platform and diff_ids checked, the rest as it is."""

    document: dict[str, Any]
    platform: Platform
    diff_ids: tuple[Digest, ...]

    @classmethod
    def parse(cls, data: bytes, source: str) -> Self:
        """Read a config; raises `ArchiveError`."""
        value = parse_json(data, source)
        rootfs = value.get("rootfs")
        rows = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
        if rows is None and isinstance(rootfs, dict):
            rows = []
        if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
            raise ArchiveError(source, "has no list of diff_ids", "name an image, not another artifact")
        if not isinstance(value.get("config") or {}, dict) or not isinstance(value.get("history") or [], list):
            raise ArchiveError(source, "has a config or history of the wrong type", "fetch it again")
        names = (value.get("os") or "linux", value.get("architecture") or "", value.get("variant") or "")
        if not all(isinstance(name, str) for name in names) or not names[1]:
            raise ArchiveError(source, "names no architecture", "fetch it again")
        return cls(value, Platform(*names), tuple(Digest.parse(row) for row in rows))


def _platform(descriptor: Descriptor) -> Platform | None:
    value = descriptor.extra.get("platform")
    if not isinstance(value, dict):
        return None
    names = (value.get("os"), value.get("architecture"), value.get("variant") or "")
    return Platform(*names) if all(isinstance(name, str) for name in names) else None  # type: ignore[arg-type]
