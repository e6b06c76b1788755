"""An OCI image layout (image-spec 1.1, image-layout.md): blobs, and names for some of them in ``index.json``."""

from __future__ import annotations

import json
from pathlib import Path

from composer.errors import ArchiveError
from composer.oci.descriptor import Descriptor
from composer.oci.index import parse_index
from composer.oci.mediatype import OCI
from composer.store.blobs import BlobStore
from composer.store.lock import locked
from composer.store.replace import replace_file

REFERENCE_NAME = "org.opencontainers.image.ref.name"
_LARGEST_INDEX = 64 << 20  # names of a store, of which there may be many
_VERSION = '{"imageLayoutVersion":"1.0.0"}'


class Layout:
    """One layout directory. Names change by rename of ``index.json`` under a lock, so readers see all or nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = BlobStore(root)

    def create(self) -> None:
        """Make the directory a layout when it is none yet."""
        (self.root / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        marker = self.root / "oci-layout"
        if not marker.exists():
            replace_file(marker, _VERSION.encode())

    def references(self) -> dict[str, Descriptor]:
        """Every named manifest or index; raises `ArchiveError` when index.json cannot be read."""
        return {
            name: descriptor
            for descriptor in self.descriptors()
            if isinstance(name := descriptor.annotations.get(REFERENCE_NAME), str)
        }

    def get(self, name: str) -> Descriptor | None:
        """The manifest or index of that name."""
        return self.references().get(name)

    def set_reference(self, name: str, descriptor: Descriptor) -> None:
        """Give ``descriptor`` the name, and take it from whatever had it."""
        annotations = {**descriptor.annotations, REFERENCE_NAME: name}
        named = Descriptor(
            descriptor.media_type, descriptor.digest, descriptor.size, {**descriptor.extra, "annotations": annotations}
        )
        self._change(name, [named])

    def remove_reference(self, name: str) -> None:
        """Forget a name; its blobs stay until they are pruned."""
        self._change(name, [])

    def _change(self, name: str, added: list[Descriptor]) -> None:
        self.create()
        with locked(self.root / ".index.lock"):
            kept = [row for row in self.descriptors() if row.annotations.get(REFERENCE_NAME) != name]
            rows = sorted([*kept, *added], key=lambda row: (row.annotations.get(REFERENCE_NAME, ""), row.digest))
            index = {"schemaVersion": 2, "mediaType": OCI.index, "manifests": [row.as_json() for row in rows]}
            replace_file(self.root / "index.json", json.dumps(index, indent=2).encode())

    def descriptors(self) -> list[Descriptor]:
        """Everything that index.json names; raises `ArchiveError` when it cannot be read."""
        path = self.root / "index.json"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ArchiveError(str(path), f"cannot be read: {error}", "make the layout again") from error
        return list(parse_index(data, str(path), _LARGEST_INDEX))
