"""Where composer keeps everything: one folder, an OCI layout inside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from composer.errors import StoreError
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
        layout = self.layout.root
        for folder in (self.root / "tmp", layout / "tmp", layout, self.root / "envs", self.root / "agents"):
            sweep(folder)

    def verify(self) -> list[str]:
        """Read all blobs, names and records; a line for each that is not what it should be, empty when all is well."""
        from composer.store.verify import problems

        return list(problems(self.layout, (self.root / "envs", self.root / "agents")))

    @property
    def layout(self) -> Layout:
        """The layout that holds all blobs, and the images by name."""
        return Layout(self.root / "oci")

    @property
    def blobs(self) -> BlobStore:
        """The layout's blobs."""
        return self.layout.blobs
