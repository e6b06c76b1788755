"""The sinks that are layouts: the local store, under a name, and ``oci:DIR[:NAME]``."""

from __future__ import annotations

import shutil
from pathlib import Path

from composer.errors import ArchiveError
from composer.oci.descriptor import Descriptor
from composer.plan.values import Plan
from composer.progress import Progress
from composer.sinks.sink import BlobReader, Written
from composer.store.layout import Layout


class LayoutSink:
    """A layout directory. Blobs come first and the name last, so a reader never finds half an image."""

    def __init__(self, layout: Layout, name: str, destination: str) -> None:
        self._layout = layout
        self._name = name
        self._destination = destination

    def has(self, plan: Plan) -> bool:
        """Whether the name points at this manifest, and every blob is there."""
        if not (self._layout.root / "index.json").is_file():
            return False
        found = self._layout.get(self._name)
        blobs = self._layout.blobs
        return (
            found is not None
            and found.digest == plan.manifest_digest
            and blobs.has(plan.manifest_digest, len(plan.manifest))
            and blobs.has(plan.config_digest, len(plan.config))
            and all(blobs.has(layer.descriptor.digest, layer.descriptor.size) for layer in plan.layers)
        )

    def apply(self, plan: Plan, read: BlobReader, progress: Progress) -> Written:
        """Copy what is missing, then set the name; a layout that this call made is removed when it fails."""
        if self.has(plan):
            return Written(self._destination, plan.manifest_digest, plan.config_digest, 0)
        existed = self._layout.root.exists()
        try:
            self._layout.create()
            moved = self._copy(plan, read, progress)
            descriptor = Descriptor(plan.family.manifest, plan.manifest_digest, len(plan.manifest), _platform(plan))
            self._layout.set_reference(self._name, descriptor)
        except BaseException:
            if not existed:
                shutil.rmtree(self._layout.root, ignore_errors=True)
            raise
        return Written(self._destination, plan.manifest_digest, plan.config_digest, moved)

    def _copy(self, plan: Plan, read: BlobReader, progress: Progress) -> int:
        moved = 0
        blobs = self._layout.blobs
        for done, layer in enumerate(plan.layers):
            progress("write layers", done, len(plan.layers))
            digest, size = layer.descriptor.digest, layer.descriptor.size
            if blobs.has(digest, size):
                continue
            with read(layer) as stream:
                count = blobs.copy_in(stream, digest)
            if count != size:
                raise ArchiveError(str(digest), f"has {count} bytes, and its descriptor says {size}", "pull it again")
            moved += count
        progress("write layers", len(plan.layers), len(plan.layers))
        for data in (plan.config, plan.manifest):
            blobs.put(data)
        return moved


def _platform(plan: Plan) -> dict[str, object]:
    value = {"architecture": plan.platform.architecture, "os": plan.platform.os}
    return {"platform": {**value, "variant": plan.platform.variant} if plan.platform.variant else value}


def layout_sink(path: Path, name: str) -> LayoutSink:
    """The sink of ``oci:DIR:NAME``."""
    return LayoutSink(Layout(path), name, f"oci:{path}:{name}")
