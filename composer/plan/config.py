"""Edit an image config: every field of the base survives, ours are added; and take our edit back."""

from __future__ import annotations

import copy
from typing import Any

from composer.bases.base import BaseImage
from composer.oci.canonical import compact, time
from composer.oci.config import parse_config
from composer.plan.detect import Carried
from composer.plan.inputs import NAMESPACE, labels
from composer.plan.values import Options, RuntimeLayers

EPOCH = "1970-01-01T00:00:00Z"
_HISTORY_KEYS = ("created", "created_by", "author", "comment", "empty_layer")


def append_config(image: BaseImage, runtime: RuntimeLayers, options: Options) -> bytes:
    """The result's config: canonical bytes, one non-empty history entry a layer, each with its time."""
    document = parse_config(image.config, image.source)
    created = time(options.created or document.get("created") or EPOCH, image.source)
    ours = [
        {"created": created, "created_by": f"composer {layer.role}", "comment": "composer runtime layer"}
        for layer in runtime.all
    ]
    document["history"] = history(document.get("history") or [], len(image.diff_ids), created, image.source) + ours
    document["rootfs"] = {"type": "layers", "diff_ids": [*image.diff_ids, *(layer.diff_id for layer in runtime.all)]}
    document["config"] = run_config(document.get("config") or {}, image, runtime, options, document.get("created"))
    document["created"] = created
    return compact(dict(sorted(document.items())))


def history(rows: list[Any], layers: int, created: str, source: str) -> list[dict[str, Any]]:
    """The base's history as BuildKit would keep it: exactly ``layers`` non-empty entries, every one with a time."""
    kept = [{key: row[key] for key in _HISTORY_KEYS if row.get(key)} for row in rows if isinstance(row, dict)]
    missing = layers - sum(1 for row in kept if not row.get("empty_layer"))
    for row in reversed(kept):
        if missing < 0 and not row.get("empty_layer"):
            row["empty_layer"] = True
            missing += 1
    kept += [{"created_by": "base layer"} for _ in range(missing)]
    result, last = [], created
    for row in kept:
        last = time(row.pop("created", last), source)
        result.append({"created": last, **row})
    return result


def run_config(
    config: dict[str, Any], image: BaseImage, runtime: RuntimeLayers, options: Options, created: str | None
) -> dict[str, Any]:
    """The ``config`` object: the agent as entrypoint in sidecar mode, and our labels."""
    edited = dict(config)
    before = config.get("Labels") or {}
    start: dict[str, Any] = {key: config[key] for key in ("Entrypoint", "Cmd") if key in config}
    start["Labels"] = {name: before[name] for name in sorted(options.labels) if name in before}
    if created is not None:
        start["created"] = created
    if options.mode == "sidecar":
        edited["Entrypoint"] = [f"{runtime.prefix}/bin/python3", "-I", f"{runtime.prefix}/agent.pyz"]
        edited.pop("Cmd", None)
    added = {**before, **labels(image, runtime, options, {**start, "own": sorted(options.labels)})}
    edited["Labels"] = dict(sorted(added.items()))
    return edited


def restore_config(image: BaseImage, carried: Carried) -> bytes:
    """The config without our layers, labels and entrypoint: what planning starts from when it replaces them."""
    document = copy.deepcopy(parse_config(image.config, image.source))
    config = document.get("config") or {}
    if carried.labels.get(NAMESPACE + "mode") == "sidecar":
        for key in ("Entrypoint", "Cmd"):
            config.pop(key, None)
            if key in carried.start:
                config[key] = carried.start[key]
    own = carried.start.get("own") or []
    left = {k: v for k, v in carried.labels.items() if not k.startswith(NAMESPACE) and k not in own}
    left.update(carried.start.get("Labels") or {})
    config["Labels"] = left
    if not left:
        del config["Labels"]
    document["config"] = config
    last = carried.first + len(carried.diff_ids)
    document["rootfs"]["diff_ids"] = [*image.diff_ids[: carried.first], *image.diff_ids[last:]]
    position, rows = 0, []
    for row in document.get("history") or []:
        ours = not row.get("empty_layer") and carried.first <= position < last
        position += not row.get("empty_layer")
        if not ours:
            rows.append(row)
    document["history"] = rows
    if "created" in carried.start:
        document["created"] = carried.start["created"]
    else:
        document.pop("created", None)
    return compact(document)
