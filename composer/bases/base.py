"""What a base is, whatever it comes from: its config, its manifest's layers, and a way to read their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import Family
from composer.oci.platform import Platform


@dataclass(frozen=True, slots=True)
class BaseImage:
    """A resolved base, as a value: all that planning needs, and nothing read from its layers.

    ``source`` is the reference as the user wrote it; ``manifest_digest`` identifies the base in tags and labels (for a
    base without a manifest, such as an engine's image or a root file system, that of the manifest that we make for
    it);
    ``config`` holds the config's original bytes; ``layers`` and ``diff_ids`` are parallel.
    """

    source: str
    platform: Platform
    family: Family
    manifest_digest: Digest
    manifest: bytes
    config: bytes
    layers: tuple[Descriptor, ...] = ()
    diff_ids: tuple[Digest, ...] = field(default=())


class Base(Protocol):
    """A source of one base image. Made by `composer.bases.open_base`; each scheme is one module."""

    def resolve(self, platform: Platform) -> BaseImage:
        """Read index, manifest, config, never layers; raises `BaseNotFoundError`, `PlatformError`, `ArchiveError`."""
        ...

    def open_layer(self, layer: Descriptor) -> AbstractContextManager[BinaryIO]:
        """The stored (compressed) bytes of one layer, for a sink that needs a copy, digest not yet checked."""
        ...

    def check_prefix(self, image: BaseImage, prefix: str) -> None:
        """Raise `PrefixConflictError` where a layer that can be read cheaply has a file or link at ``prefix``."""
        ...

    def platforms(self) -> Iterator[Platform]:
        """The platforms that the source offers."""
        ...
