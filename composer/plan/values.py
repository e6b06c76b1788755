"""The inputs and the result of planning, all of them values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from composer.layers.layer import Layer
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import Family
from composer.oci.platform import Platform

LAYOUT_VERSION = 1
"""Changes when equal inputs would give other bytes."""

Mode = Literal["sidecar", "passive"]


@dataclass(frozen=True, slots=True)
class RuntimeLayers:
    """The layers to append, in order, and the digests of what they were made from."""

    lock_digest: Digest
    agent_digest: Digest
    prefix: str
    platform: Platform
    env: tuple[Layer, ...]
    agent: Layer

    @property
    def all(self) -> tuple[Layer, ...]:
        """Every layer, the agent's last."""
        return (*self.env, self.agent)


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose about the result. ``created`` is RFC 3339; None takes the base's own."""

    mode: Mode = "sidecar"
    labels: Mapping[str, str] = field(default_factory=dict)
    created: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedBlob:
    """A blob that the image names; ``origin`` tells where its bytes are: a base's source, or our own store."""

    descriptor: Descriptor
    diff_id: Digest
    origin: Literal["base", "store"]


@dataclass(frozen=True, slots=True)
class Tags:
    """The three tags: ``source`` of all inputs, ``lock`` of all but agent and plugins, ``versioned`` for people."""

    source: str
    lock: str
    versioned: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One image to be: the exact bytes of its config and manifest, and its layers in order, the base's first.

    ``reused`` says that the base carried these layers already and nothing was appended.
    """

    platform: Platform
    family: Family
    config: bytes
    manifest: bytes
    layers: tuple[PlannedBlob, ...]
    tags: Tags
    reused: bool = False

    @property
    def config_digest(self) -> Digest:
        """The image ID as engines show it."""
        return Digest.of(self.config)

    @property
    def manifest_digest(self) -> Digest:
        """The digest that a registry knows the image by."""
        return Digest.of(self.manifest)
