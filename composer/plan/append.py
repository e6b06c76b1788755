"""The plan: base, runtime layers and options in; exact config and manifest bytes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from composer.bases.base import BaseImage
from composer.errors import PlatformError, UnsupportedError
from composer.oci.descriptor import Descriptor
from composer.oci.index import matches
from composer.oci.manifest import family_type, write_manifest
from composer.oci.mediatype import Family
from composer.plan.config import append_config, restore_config
from composer.plan.detect import Carried, detect
from composer.plan.inputs import AGENT_DIGEST, LAYOUT, LOCK_DIGEST, MODE, PREFIX
from composer.plan.tags import make_tags
from composer.plan.values import LAYOUT_VERSION, Options, Plan, PlannedBlob, RuntimeLayers

MOST_LAYERS = 127
"""Docker's limit (moby/layer, maxLayerDepth is 125 below two of its own; the distribution's manifests: 127)."""


def plan_append(image: BaseImage, runtime: RuntimeLayers, options: Options) -> Plan:
    """The image ``image`` with the runtime's layers; raises `PlatformError`, `UnsupportedError`, `ArchiveError`.

    An image that carries exactly these layers comes back as it is, with ``reused``; older ones are replaced.
    """
    if not matches(image.platform, runtime.platform):
        cause = f"is for {image.platform}, and the runtime for {runtime.platform}"
        raise PlatformError(image.source, cause, "name a base for the runtime's platform, or another --platform")
    carried = detect(image)
    base = image if carried is None else _without(image, carried)
    tags = make_tags(base, runtime, options)
    if carried is not None and _is_same(carried, runtime, options):
        blobs = tuple(
            PlannedBlob(layer, diff_id, "base") for layer, diff_id in zip(image.layers, image.diff_ids, strict=True)
        )
        return Plan(image.platform, image.family, image.config, image.manifest, blobs, tags, reused=True)
    config = append_config(base, runtime, options)
    blobs = _blobs(base, runtime)
    if len(blobs) > MOST_LAYERS:
        cause = f"has {len(base.layers)} layers, and with the runtime's {len(runtime.all)} more than {MOST_LAYERS}"
        raise UnsupportedError(image.source, cause, "flatten the base (docker export, then rootfs:)")
    manifest = write_manifest(base.family, config, [blob.descriptor for blob in blobs])
    return Plan(base.platform, base.family, config, manifest, blobs, tags)


def render_manifest(family: Family, config: bytes, layers: Sequence[Descriptor]) -> bytes:
    """The manifest of an image that had none of its own (`composer.bases`)."""
    return write_manifest(family, config, layers)


def _blobs(base: BaseImage, runtime: RuntimeLayers) -> tuple[PlannedBlob, ...]:
    theirs = [PlannedBlob(layer, diff_id, "base") for layer, diff_id in zip(base.layers, base.diff_ids, strict=True)]
    ours = [
        PlannedBlob(
            replace(layer.descriptor, media_type=family_type(layer.descriptor.media_type, base.family)),
            layer.diff_id,
            "store",
        )
        for layer in runtime.all
    ]
    return (*theirs, *ours)


def _without(image: BaseImage, carried: Carried) -> BaseImage:
    """The base below our layers, under the digest that it had when they were appended."""
    last = carried.first + len(carried.diff_ids)
    layers = (*image.layers[: carried.first], *image.layers[last:])
    config = restore_config(image, carried)
    return replace(
        image,
        config=config,
        layers=layers,
        diff_ids=(*image.diff_ids[: carried.first], *image.diff_ids[last:]),
        manifest=write_manifest(image.family, config, layers),
        manifest_digest=carried.base_digest,
    )


def _is_same(carried: Carried, runtime: RuntimeLayers, options: Options) -> bool:
    wanted = {
        LOCK_DIGEST: runtime.lock_digest,
        AGENT_DIGEST: runtime.agent_digest,
        PREFIX: runtime.prefix,
        LAYOUT: str(LAYOUT_VERSION),
        MODE: options.mode,
        **options.labels,
    }
    same_layers = carried.diff_ids == tuple(layer.diff_id for layer in runtime.all)
    return same_layers and all(carried.labels.get(name) == value for name, value in wanted.items())
