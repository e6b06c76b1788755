"""``scratch``: no base at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from composer.bases.base import BaseImage
from composer.errors import UsageError
from composer.oci.canonical import compact
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import OCI, Family
from composer.oci.platform import Platform
from composer.plan.append import render_manifest

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def made_image(
    source: str,
    platform: Platform,
    layers: tuple[Descriptor, ...] = (),
    diff_ids: tuple[Digest, ...] = (),
    config: dict[str, Any] | None = None,
    family: Family = OCI,
) -> BaseImage:
    """An image without a manifest of its own, with the one that we make for it."""
    document: dict[str, Any] = {"architecture": platform.architecture, "config": config or {}, "os": platform.os}
    if platform.variant:
        document["variant"] = platform.variant
    document["rootfs"] = {"type": "layers", "diff_ids": list(diff_ids)}
    data = compact({key: document[key] for key in sorted(document)})
    manifest = render_manifest(family, data, list(layers))
    return BaseImage(source, platform, family, Digest.of(manifest), manifest, data, layers, diff_ids)


class ScratchBase:
    """The empty image: any platform, no layers."""

    def resolve(self, platform: Platform) -> BaseImage:
        """Make the empty image for ``platform``."""
        return made_image("scratch", platform, config={"Env": [PATH]})

    def open_layer(self, layer: Descriptor) -> AbstractContextManager[BinaryIO]:
        """There is no layer to open."""
        raise UsageError("scratch", f"has no layer {layer.digest}")

    def check_prefix(self, image: BaseImage, prefix: str) -> None:
        """Nothing is in the way."""

    def platforms(self) -> Iterator[Platform]:
        """Those that there is a runtime for."""
        yield Platform("linux", "amd64")
        yield Platform("linux", "arm64")
