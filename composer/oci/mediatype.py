"""Media types of images, in the two families that registries and engines know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Compression = Literal["none", "gzip", "zstd"]

SCHEMA_1 = frozenset(
    {
        "application/vnd.docker.distribution.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v1+prettyjws",
    }
)


@dataclass(frozen=True, slots=True)
class Family:
    """The media types of one family; ``layer`` is the uncompressed layer's."""

    name: str
    index: str
    manifest: str
    config: str
    layer: str
    gzip_suffix: str
    zstd_suffix: str

    def layer_type(self, compression: Compression) -> str:
        """The media type of a layer stored with ``compression``."""
        return self.layer + {"none": "", "gzip": self.gzip_suffix, "zstd": self.zstd_suffix}[compression]


OCI = Family(
    name="oci",
    index="application/vnd.oci.image.index.v1+json",
    manifest="application/vnd.oci.image.manifest.v1+json",
    config="application/vnd.oci.image.config.v1+json",
    layer="application/vnd.oci.image.layer.v1.tar",
    gzip_suffix="+gzip",
    zstd_suffix="+zstd",
)
DOCKER = Family(
    name="docker",
    index="application/vnd.docker.distribution.manifest.list.v2+json",
    manifest="application/vnd.docker.distribution.manifest.v2+json",
    config="application/vnd.docker.container.image.v1+json",
    layer="application/vnd.docker.image.rootfs.diff.tar",
    gzip_suffix=".gzip",
    zstd_suffix=".zstd",
)
# Layers that a base may forbid to push elsewhere; kept as they are (image-spec, layer.md, "Non-Distributable").
FOREIGN: dict[str, Compression] = {
    "application/vnd.docker.image.rootfs.foreign.diff.tar": "none",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip": "gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar": "none",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip": "gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd": "zstd",
}


def family_of(media_type: str) -> Family | None:
    """The family of an index, manifest, config or distributable layer type; None when unknown."""
    for family in (OCI, DOCKER):
        if media_type in (family.index, family.manifest, family.config) or media_type.startswith(family.layer):
            return family
    return None


def compression_of(media_type: str) -> Compression | None:
    """How a layer of this media type is compressed; None for a type that is no layer's."""
    kinds: tuple[Compression, ...] = ("none", "gzip", "zstd")
    for family in (OCI, DOCKER):
        for compression in kinds:
            if media_type == family.layer_type(compression):
                return compression
    return FOREIGN.get(media_type)
