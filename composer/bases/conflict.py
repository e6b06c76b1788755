"""Whether a base has something of its own where the prefix goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from composer.bases.base import BaseImage
from composer.bases.scan import scan_once
from composer.errors import ArchiveError, PrefixConflictError
from composer.oci.descriptor import Descriptor
from composer.oci.mediatype import FOREIGN, compression_of
from composer.plan.detect import detect
from composer.store.store import Store

_NEXT = "move it away in the base, or use another base"


def check_layers(image: BaseImage, prefix: str, store: Store, open_blob: Callable[[Descriptor], BinaryIO]) -> None:
    """Scan each layer once, all that can be read, and raise `PrefixConflictError` or `ArchiveError`.

    The layers of a runtime that the image carries already are ours and are left out.
    """
    top = prefix.strip("/").split("/")[0]
    carried = detect(image)
    ours = set(carried.diff_ids) if carried else set()
    found = "directory"
    for layer, diff_id in zip(image.layers, image.diff_ids, strict=True):
        if diff_id in ours or layer.media_type in FOREIGN:
            continue
        compression = compression_of(layer.media_type)
        if compression is None:
            continue
        scanned = scan_once(store, layer.digest, lambda layer=layer: open_blob(layer), compression, image.source)  # type: ignore[misc]
        if scanned.diff_id != diff_id:
            raise ArchiveError(
                image.source, f"has a layer that is not the one its config names ({diff_id})", "pull it again"
            )
        if f".wh.{top}" in scanned.tops:
            found = "directory"
        found = scanned.tops.get(top, found)
    if found in ("file", "link"):
        kind = {"file": "file", "link": "symbolic link"}[found]
        raise PrefixConflictError(image.source, f"has a {kind} at /{top}, where the runtime goes", _NEXT)
    if found == "content":
        raise PrefixConflictError(image.source, f"has files of its own in /{top}, where the runtime goes", _NEXT)
