"""What is wrong with a store: everything is read, nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from composer.errors import ComposerError
from composer.oci.canonical import load
from composer.oci.descriptor import Descriptor
from composer.oci.mediatype import DOCKER, OCI
from composer.store.blobs import BlobStore
from composer.store.layout import REFERENCE_NAME, Layout

_PARENTS = frozenset(name for family in (OCI, DOCKER) for name in (family.index, family.manifest))


def problems(layout: Layout, records: tuple[Path, ...]) -> Iterator[str]:
    """A line for each blob of another digest, each name or record whose blobs are not all there.

    ``records`` are folders of JSON files that name blobs by descriptors, at any depth.
    """
    for digest in layout.blobs.verify():
        yield f"blob {digest}: its bytes have another digest"
    try:
        named = layout.descriptors()
    except ComposerError as error:
        yield str(error)
        named = []
    for top in named:
        name = top.annotations.get(REFERENCE_NAME, top.digest)
        yield from (f"image {name}: {line}" for line in _image(layout.blobs, top))
    for folder in records:
        for path in sorted(folder.glob("[!.]*.json")):
            yield from (f"record {folder.name}/{path.name}: {line}" for line in _record(layout.blobs, path))


def _image(blobs: BlobStore, top: Descriptor) -> Iterator[str]:
    """What is missing of an image: each manifest, config and layer, those aside that are to be had elsewhere."""
    if not blobs.has(top.digest, top.size):
        if not top.extra.get("urls"):
            yield f"{top.digest} is missing"
    elif top.media_type in _PARENTS:
        try:
            document = load(blobs.read(top.digest), str(top.digest))
            rows = [*document.get("manifests", ()), document.get("config"), *document.get("layers", ())]
            parts = [Descriptor.parse(row) for row in rows if row is not None]
        except (ComposerError, TypeError):
            yield f"{top.digest} is not a manifest"
            return
        for part in parts:
            yield from _image(blobs, part)


def _record(blobs: BlobStore, path: Path) -> Iterator[str]:
    try:
        found = list(_descriptors(json.loads(path.read_bytes())))
    except (OSError, ValueError, RecursionError, ComposerError) as error:
        yield f"cannot be read: {error}"
        return
    for descriptor in found:
        if not blobs.has(descriptor.digest, descriptor.size):
            yield f"{descriptor.digest} is missing"


def _descriptors(value: Any) -> Iterator[Descriptor]:
    """Every value of a key ``descriptor``, however deep."""
    if isinstance(value, dict):
        if "descriptor" in value:
            yield Descriptor.parse(value["descriptor"])
        for item in value.values():
            yield from _descriptors(item)
    elif isinstance(value, list):
        for item in value:
            yield from _descriptors(item)
