"""The parts of a stored image that an engine needs: its layers and what its config says about the process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from composer.errors import ArchiveError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.store.store import Store


@dataclass(frozen=True, slots=True)
class Image:
    """Layers with their diff_ids, lowest first, and the ``config`` object of the image config."""

    layers: tuple[tuple[Descriptor, Digest], ...]
    config: Mapping[str, Any]

    @classmethod
    def load(cls, store: Store, digest: str) -> Image:
        """Read manifest and config from the store; raises `StoreError`, `ArchiveError`."""
        try:
            manifest = json.loads(store.blobs.read(Digest.parse(digest)))
            config = json.loads(store.blobs.read(Digest.parse(manifest["config"]["digest"])))
            layers = [Descriptor.parse(row, digest) for row in manifest["layers"]]
            diff_ids = [Digest.parse(text) for text in config["rootfs"]["diff_ids"]]
            return cls(tuple(zip(layers, diff_ids, strict=True)), config.get("config") or {})
        except (KeyError, TypeError, ValueError) as error:
            raise ArchiveError(digest, f"is not an image manifest: {error!r}", "build it again") from error

    @property
    def command(self) -> list[str]:
        """Entrypoint and Cmd, as one argv."""
        return [*(self.config.get("Entrypoint") or []), *(self.config.get("Cmd") or [])]

    @property
    def environment(self) -> dict[str, str]:
        """``Env`` as a map."""
        return dict(row.partition("=")[::2] for row in self.config.get("Env") or [])
