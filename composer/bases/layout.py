"""``oci:DIR[:NAME]``: an image of an OCI layout; and a name of the local store, which is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from composer.bases.base import BaseImage
from composer.bases.conflict import check_layers
from composer.bases.image import platforms, resolve_image
from composer.errors import ArchiveError, BaseNotFoundError
from composer.oci.descriptor import Descriptor
from composer.oci.platform import Platform
from composer.store.layout import REFERENCE_NAME, Layout
from composer.store.store import Store


class LayoutBase:
    """One image of a layout directory: by name, or the only one that there is."""

    def __init__(self, layout: Layout, name: str | None, store: Store, source: str) -> None:
        self._layout = layout
        self._name = name
        self._store = store
        self._source = source

    def resolve(self, platform: Platform) -> BaseImage:
        """Read index, manifest and config; raises `BaseNotFoundError`, `PlatformError`, `ArchiveError`."""
        return resolve_image(self._top(), self._read, platform, self._source)

    def open_layer(self, layer: Descriptor) -> AbstractContextManager[BinaryIO]:
        """The blob's file."""
        return self._open(layer)

    def check_prefix(self, image: BaseImage, prefix: str) -> None:
        """Scan the layers, each once."""
        check_layers(image, prefix, self._store, self._open)

    def platforms(self) -> Iterator[Platform]:
        """Those of the index, or of the image."""
        return platforms(self._top(), self._read, self._source)

    def _read(self, descriptor: Descriptor) -> bytes:
        with self._open(descriptor) as file:
            return file.read(descriptor.size + 1)

    def _open(self, descriptor: Descriptor) -> BinaryIO:
        path = self._layout.blobs.path(descriptor.digest)
        try:
            return path.open("rb")
        except OSError as error:
            cause = f"lacks the blob {descriptor.digest} ({error.strerror})"
            raise ArchiveError(self._source, cause, "copy the image again, with all of its layers") from error

    def _top(self) -> Descriptor:
        if not (self._layout.root / "index.json").is_file():
            raise BaseNotFoundError(self._source, "is no OCI layout: it has no index.json", "name a layout's folder")
        rows = self._layout.descriptors()
        if self._name is not None:
            rows = [row for row in rows if row.annotations.get(REFERENCE_NAME) == self._name]
        if len(rows) == 1 or (rows and self._name is not None):
            return rows[0]
        names = ", ".join(
            sorted(row.annotations.get(REFERENCE_NAME, str(row.digest)) for row in self._layout.descriptors())
        )
        cause = f"has no image {self._name}" if self._name else f"has {len(rows)} images"
        raise BaseNotFoundError(
            self._source, f"{cause}; there is {names or 'nothing'}", "name one of them: oci:DIR:NAME"
        )


def split_name(text: str) -> tuple[Path, str | None]:
    """``DIR`` and ``NAME`` of ``DIR[:NAME]``: a folder that exists with its colon is taken whole."""
    if Path(text).exists() or ":" not in text:
        return Path(text), None
    folder, _, name = text.partition(":")
    return Path(folder), name or None
