"""Indexes, and Docker's manifest lists (image-spec 1.1, image-index.md)."""

from __future__ import annotations

from collections.abc import Sequence

from composer.errors import ArchiveError, UsageError
from composer.oci.canonical import LIMIT, load
from composer.oci.descriptor import Descriptor
from composer.oci.mediatype import DOCKER, OCI
from composer.oci.platform import Platform

MEDIA_TYPES = (OCI.index, DOCKER.index)


def parse_index(data: bytes, source: str, limit: int = LIMIT) -> tuple[Descriptor, ...]:
    """The descriptors of an index of at most ``limit`` bytes; raises `ArchiveError`."""
    rows = load(data, source, limit).get("manifests")
    if not isinstance(rows, list):
        raise ArchiveError(source, "the index has no list of manifests", "get the image again")
    return tuple(Descriptor.parse(row, source) for row in rows)


def platform_of(descriptor: Descriptor) -> Platform | None:
    """The platform that a row of an index declares; None when it declares none or is an attestation."""
    value = descriptor.extra.get("platform")
    if not isinstance(value, dict):
        return None
    parts = [value.get("os"), value.get("architecture"), value.get("variant")]
    try:
        return Platform.parse("/".join(part for part in parts if isinstance(part, str) and part))
    except UsageError:
        return None


def is_attestation(descriptor: Descriptor) -> bool:
    """Whether a row is BuildKit's attestation, which is no image."""
    platform = platform_of(descriptor)
    if platform is not None and platform.os == "unknown":
        return True
    return "vnd.docker.reference.type" in descriptor.annotations


def matches(offered: Platform, wanted: Platform) -> bool:
    """Whether an image for ``offered`` is one for ``wanted``; arm64 and arm64/v8 are the same."""
    if (offered.os, offered.architecture) != (wanted.os, wanted.architecture):
        return False
    default = "v8" if wanted.architecture == "arm64" else ""
    return not wanted.variant or (offered.variant or default) == wanted.variant


def names(platforms: Sequence[Platform]) -> str:
    """Platforms in a message."""
    return ", ".join(sorted({str(platform) for platform in platforms})) or "no platform"
