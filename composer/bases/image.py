"""From a descriptor to a resolved base: index, manifest and config of any source that can give blobs by digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from composer.bases.base import BaseImage
from composer.errors import ArchiveError, PlatformError, UnsupportedError
from composer.oci.canonical import LIMIT
from composer.oci.config import Config
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.index import MEDIA_TYPES, is_attestation, matches, names, parse_index, platform_of
from composer.oci.manifest import Manifest
from composer.oci.platform import Platform

Reader = Callable[[Descriptor], bytes]
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
    cause = f"has no image for {platform}, only for {names(offered)}"
    raise PlatformError(source, cause, "choose one of these with --platform")


def platforms(top: Descriptor, read: Reader, source: str) -> Iterator[Platform]:
    """The platforms that an index offers, or that of a single image."""
    if top.media_type in MEDIA_TYPES:
        for row in parse_index(checked(top, read, source), source):
            platform = platform_of(row)
            if platform is not None and not is_attestation(row):
                yield platform
    else:
        manifest = Manifest.parse(checked(top, read, source), source, top.media_type)
        yield Config.parse(checked(manifest.config, read, source), source).platform


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
    if top.media_type not in MEDIA_TYPES:
        yield top
        return
    for descriptor in parse_index(checked(top, read, source), source):
        if is_attestation(descriptor):
            continue
        platform = platform_of(descriptor)
        if platform is not None and not matches(platform, wanted):
            offered.append(platform)
            continue
        yield from _manifests(descriptor, read, source, wanted, offered, depth + 1)
