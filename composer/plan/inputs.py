"""Labels: the full digests of every input, and what is needed to undo an append."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from composer.bases.base import BaseImage
from composer.plan.values import LAYOUT_VERSION, Options, RuntimeLayers

NAMESPACE = "io.composer."
BASE_DIGEST = NAMESPACE + "base.digest"
BASE_START = NAMESPACE + "base.start"
LOCK_DIGEST = NAMESPACE + "lock.digest"
AGENT_DIGEST = NAMESPACE + "agent.digest"
PREFIX = NAMESPACE + "prefix"
LAYOUT = NAMESPACE + "layout"
PLATFORM = NAMESPACE + "platform"
MODE = NAMESPACE + "mode"
DIFF_IDS = NAMESPACE + "diff_ids"
CREATED = NAMESPACE + "base.created"


def labels(image: BaseImage, runtime: RuntimeLayers, options: Options, start: Mapping[str, Any]) -> dict[str, str]:
    """Our labels, the user's among them; ``start`` is the base's own Entrypoint, Cmd and replaced labels."""
    return {
        **options.labels,
        BASE_DIGEST: image.manifest_digest,
        BASE_START: json.dumps(start, separators=(",", ":"), sort_keys=True, ensure_ascii=False),
        LOCK_DIGEST: runtime.lock_digest,
        AGENT_DIGEST: runtime.agent_digest,
        PREFIX: runtime.prefix,
        LAYOUT: str(LAYOUT_VERSION),
        PLATFORM: str(runtime.platform),
        MODE: options.mode,
        DIFF_IDS: ",".join(layer.diff_id for layer in runtime.all),
    }


def hash_inputs(image: BaseImage, runtime: RuntimeLayers, options: Options) -> dict[str, Any]:
    """What the source tag is a hash of; the compression counts through the layers' digests."""
    return {
        **lock_inputs(image, runtime),
        "agent": runtime.agent_digest,
        "mode": options.mode,
        "labels": dict(sorted(options.labels.items())),
        "created": options.created,
        "layers": [layer.descriptor.digest for layer in runtime.all],
    }


def lock_inputs(image: BaseImage, runtime: RuntimeLayers) -> dict[str, Any]:
    """What the lock tag is a hash of."""
    return {
        "layout": LAYOUT_VERSION,
        "base": image.manifest_digest,
        "platform": str(runtime.platform),
        "lock": runtime.lock_digest,
        "prefix": runtime.prefix,
    }
