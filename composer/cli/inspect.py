"""``composer inspect``: what an image is made of."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from composer.bases.open import open_base
from composer.cli.options import Json, PlatformOption, parse_platform
from composer.cli.render import emit, say, size, table
from composer.plan.detect import detect
from composer.store.store import Store


def inspect(
    reference: Annotated[str, typer.Argument(help="A name in the local store, or a base as for build.")],
    platform: PlatformOption = None,
    as_json: Json = False,
) -> None:
    """Show an image's inputs, layers and sizes, and whether it carries the runtime."""
    store = Store.open()
    image = open_base(reference, store).resolve(parse_platform(platform))
    config: dict[str, Any] = json.loads(image.config).get("config") or {}
    found = detect(image)
    ours = set(found.diff_ids) if found else set()
    layers = [
        {
            "digest": str(layer.digest),
            "diff_id": str(diff_id),
            "size": layer.size,
            "media_type": layer.media_type,
            "runtime": diff_id in ours,
        }
        for layer, diff_id in zip(image.layers, image.diff_ids, strict=True)
    ]
    document = {
        "source": image.source,
        "platform": str(image.platform),
        "manifest_digest": str(image.manifest_digest),
        "config_digest": str(found.config_digest) if found else None,
        "carries_runtime": found is not None,
        "entrypoint": config.get("Entrypoint"),
        "cmd": config.get("Cmd"),
        "user": config.get("User") or "",
        "labels": config.get("Labels") or {},
        "size": sum(layer.size for layer in image.layers),
        "layers": layers,
    }
    if as_json:
        emit(document)
        return
    rows = [
        (layer.digest.short, size(layer.size), "runtime" if diff_id in ours else "base", str(diff_id)[7:19])
        for layer, diff_id in zip(image.layers, image.diff_ids, strict=True)
    ]
    table(("LAYER", "SIZE", "OF", "DIFF_ID"), rows)
    for key in ("source", "platform", "manifest_digest", "carries_runtime", "entrypoint", "cmd", "user"):
        say(f"{key:16} {document[key]}")
    for name, value in sorted((config.get("Labels") or {}).items()):
        say(f"label            {name}={value}")
    say(f"size             {size(sum(layer.size for layer in image.layers))} compressed, {len(layers)} layers")
