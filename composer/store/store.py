"""Where composer keeps everything: one folder, an OCI layout inside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from composer.errors import StoreError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.manifest import Manifest
from composer.store.blobs import BlobStore
from composer.store.layout import Layout
from composer.store.prune import sweep

VARIABLE = "COMPOSER_STORE"


@dataclass(frozen=True, slots=True)
class Store:
    """The store at ``root``; see the names of its folders below."""

    root: Path

    @classmethod
    def open(cls, root: Path | None = None) -> Self:
        """The store at ``root``, else $COMPOSER_STORE, else ``~/.cache/composer``; made when it is not there."""
        if root is None:
            named = os.environ.get(VARIABLE)
            cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
            root = Path(named) if named else Path(cache) / "composer"
        store = cls(root.absolute())
        try:
            store.layout.create()
            for folder in ("envs", "agents", "packages", "unpacked", "locks", "tmp", "sandboxes"):
                (store.root / folder).mkdir(exist_ok=True)
        except OSError as error:
            cause = f"cannot be made: {error.strerror}"
            raise StoreError(str(store.root), cause, f"name a writable folder in ${VARIABLE}") from error
        return store

    def sweep(self) -> None:
        """Remove the temporary files of processes that are no more."""
        for folder in (self.root / "tmp", self.layout.root / "tmp"):
            sweep(folder)

    def verify(self) -> list[str]:
        """Read all blobs and names; a line for each that is not what it should be, empty when all is well."""
        blobs = self.blobs
        problems = [f"blob {digest}: its bytes have another digest" for digest in blobs.verify()]
        for name, descriptor in self.layout.references().items():
            problems += [f"image {name}: {digest} is missing" for digest in _missing(blobs, descriptor)]
        return problems

    @property
    def layout(self) -> Layout:
        """The layout that holds all blobs, and the images by name."""
        return Layout(self.root / "oci")

    @property
    def blobs(self) -> BlobStore:
        """The layout's blobs."""
        return self.layout.blobs


def _missing(blobs: BlobStore, top: Descriptor) -> list[Digest]:
    if not blobs.has(top.digest, top.size):
        return [top.digest]
    manifest = Manifest.parse(blobs.read(top.digest), str(top.digest), top.media_type)
    parts = (manifest.config, *manifest.layers)
    return [part.digest for part in parts if not blobs.has(part.digest, part.size)]
