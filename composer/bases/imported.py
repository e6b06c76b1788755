"""Bases whose layers are brought into the store: what they share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import BinaryIO

from composer.bases.base import BaseImage
from composer.bases.conflict import check_layers
from composer.oci.descriptor import Descriptor
from composer.store.store import Store


class ImportedLayers:
    """The two calls of a base that need nothing but the store's blobs."""

    _store: Store

    def open_layer(self, layer: Descriptor) -> AbstractContextManager[BinaryIO]:
        """The imported blob."""
        return self._store.blobs.open(layer.digest)

    def check_prefix(self, image: BaseImage, prefix: str) -> None:
        """Look at what the import has scanned."""
        check_layers(image, prefix, self._store, lambda layer: self._store.blobs.open(layer.digest))
