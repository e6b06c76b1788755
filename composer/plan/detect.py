"""Recognise an image that carries our layers: by its labels and the layers' diff_ids, never by its name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from composer.bases.base import BaseImage
from composer.errors import UsageError
from composer.oci.config import parse_config
from composer.oci.digest import Digest
from composer.plan.inputs import BASE_DIGEST, BASE_START, DIFF_IDS


@dataclass(frozen=True, slots=True)
class Carried:
    """Our layers in an image: where they begin, what they are, and the base's own start before we changed it."""

    first: int
    diff_ids: tuple[Digest, ...]
    labels: dict[str, str]
    start: dict[str, Any]
    base_digest: Digest
    config_digest: Digest


def detect(image: BaseImage) -> Carried | None:
    """Our layers in ``image``; None when labels (inherited by an image built on ours, say) and layers do not agree."""
    document = parse_config(image.config, image.source)
    labels = (document.get("config") or {}).get("Labels") or {}
    if not isinstance(labels, dict) or not isinstance(labels.get(DIFF_IDS), str):
        return None
    try:
        ours = tuple(Digest.parse(row) for row in labels[DIFF_IDS].split(","))
        base_digest = Digest.parse(labels.get(BASE_DIGEST, ""))
        start = json.loads(labels.get(BASE_START, ""))
    except (UsageError, ValueError):
        return None
    for first in range(len(image.diff_ids) - len(ours) + 1):
        if image.diff_ids[first : first + len(ours)] == ours and isinstance(start, dict):
            return Carried(first, ours, labels, start, base_digest, Digest.of(image.config))
    return None
