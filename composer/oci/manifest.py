"""Image manifests of both families (image-spec 1.1, manifest.md; Docker's schema 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from composer.errors import ArchiveError, UnsupportedError
from composer.oci.canonical import indented, load
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import DOCKER, OCI, SCHEMA_1, Family, compression_of, family_of


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it was read."""

    family: Family
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @classmethod
    def parse(cls, data: bytes, source: str, media_type: str = "") -> Self:
        """Check the bytes; raises `ArchiveError`, and `UnsupportedError` for schema 1 and artifacts."""
        document = load(data, source)
        declared = document.get("mediaType") or media_type
        if document.get("schemaVersion") == 1 or declared in SCHEMA_1:
            raise UnsupportedError(source, "is a Docker schema 1 image", "save it again with a current engine")
        layers = document.get("layers")
        if not isinstance(layers, list):
            raise ArchiveError(source, "the manifest has no list of layers", "get the image again")
        config = Descriptor.parse(document.get("config"), source)
        if family_of(config.media_type) is None:
            cause = f"is an artifact with a config of type {config.media_type!r}, not an image"
            raise UnsupportedError(source, cause, "name an image")
        family = family_of(str(declared)) or family_of(config.media_type) or OCI
        return cls(family, config, tuple(Descriptor.parse(row, source) for row in layers))


def write_manifest(family: Family, config: bytes, layers: Sequence[Descriptor]) -> bytes:
    """The canonical manifest: one family throughout; layers keep their compression and lose annotations."""
    rows = [
        {"mediaType": family_type(layer.media_type, family), "digest": layer.digest, "size": layer.size, **_urls(layer)}
        for layer in layers
    ]
    head = {"mediaType": family.config, "digest": Digest.of(config), "size": len(config)}
    return indented({"schemaVersion": 2, "mediaType": family.manifest, "config": head, "layers": rows})


def family_type(media_type: str, family: Family) -> str:
    """The same layer type in ``family``; foreign and unknown types stay."""
    other = DOCKER if family is OCI else OCI
    compression = compression_of(media_type)
    if compression is not None and media_type == other.layer_type(compression):
        return family.layer_type(compression)
    return media_type


def _urls(layer: Descriptor) -> dict[str, object]:
    urls = layer.extra.get("urls")
    return {"urls": urls} if urls else {}
