"""From a descriptor to a resolved base: index, manifest and config of any source that can give blobs by digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from composer.bases.base import BaseImage
from composer.errors import ArchiveError, PlatformError, UnsupportedError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.document import LIMIT, Config, Index, Manifest
from composer.oci.mediatype import DOCKER, OCI
from composer.oci.platform import Platform

Reader = Callable[[Descriptor], bytes]
_INDEXES = (OCI.index, DOCKER.index)
_DEEPEST = 4


def resolve_image(top: Descriptor, read: Reader, platform: Platform, source: str) -> BaseImage:
    """Walk from an index or manifest to the image of ``platform``.

    Raises `PlatformError` naming the platforms that there are, `ArchiveError`, `UnsupportedError`.
    """
    offered: list[Platform] = []
    for descriptor in _manifests(top, read, source, platform, offered, 0):
        data = checked(descriptor, read, source)
        manifest = Manifest.parse(data, source, descriptor.media_type)
        config_data = checked(manifest.config, read, source)
        config = Config.parse(config_data, source)
        if not matches(config.platform, platform):
            offered.append(config.platform)
            continue
        if len(config.diff_ids) != len(manifest.layers):
            cause = f"names {len(manifest.layers)} layers, and its config {len(config.diff_ids)}"
            raise ArchiveError(source, cause, "pull it again")
        return BaseImage(
            source,
            config.platform,
            manifest.family,
            Digest.of(data),
            data,
            config_data,
            manifest.layers,
            config.diff_ids,
        )
    names = ", ".join(sorted({str(found) for found in offered})) or "nothing that can be told"
    raise PlatformError(source, f"has no image for {platform}, only for {names}", "choose one of these with --platform")


def platforms(top: Descriptor, read: Reader, source: str) -> Iterator[Platform]:
    """The platforms that an index offers, or that of a single image."""
    if top.media_type in _INDEXES:
        for _, platform in Index.parse(checked(top, read, source), source).manifests:
            if platform is not None and platform.os != "unknown":
                yield platform
    else:
        manifest = Manifest.parse(checked(top, read, source), source, top.media_type)
        yield Config.parse(checked(manifest.config, read, source), source).platform


def matches(offered: Platform, wanted: Platform) -> bool:
    """Whether an image for ``offered`` serves ``wanted``; a variant counts only when it was asked for."""
    same = (offered.os, offered.architecture) == (wanted.os, wanted.architecture)
    return same and (not wanted.variant or offered.variant in ("", wanted.variant))


def checked(descriptor: Descriptor, read: Reader, source: str) -> bytes:
    """A document's bytes, of the size and digest that its descriptor promises."""
    if descriptor.size > LIMIT:
        raise ArchiveError(
            source, f"names a document of {descriptor.size} bytes, more than {LIMIT}", "use another image"
        )
    data = read(descriptor)
    if len(data) != descriptor.size or Digest.of(data) != descriptor.digest:
        raise ArchiveError(source, f"has other bytes than those of {descriptor.digest}", "pull it again")
    return data


def _manifests(
    top: Descriptor, read: Reader, source: str, wanted: Platform, offered: list[Platform], depth: int
) -> Iterator[Descriptor]:
    if depth > _DEEPEST:
        raise UnsupportedError(source, f"has indexes in indexes, more than {_DEEPEST} deep", "name one image of it")
    if top.media_type not in _INDEXES:
        yield top
        return
    for descriptor, platform in Index.parse(checked(top, read, source), source).manifests:
        if platform is not None and platform.os == "unknown":
            continue  # an attestation
        if platform is not None and not matches(platform, wanted):
            offered.append(platform)
            continue
        yield from _manifests(descriptor, read, source, wanted, offered, depth + 1)
