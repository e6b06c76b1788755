"""``rootfs:FILE``: a root file system as a tar, plain or compressed, used as the one layer of a base."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from composer.bases.base import BaseImage
from composer.bases.imported import ImportedLayers
from composer.bases.scan import Scan, remember, scan_file, scan_once
from composer.bases.scratch import PATH, made_image
from composer.bases.stream import packing_of, unpacked_stream
from composer.errors import ArchiveError, BaseNotFoundError, PlatformError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import OCI, Compression
from composer.oci.platform import Platform
from composer.store.replace import replace_file
from composer.store.store import Store

_KEPT: dict[str, Compression] = {"none": "none", "gzip": "gzip", "zstd": "zstd"}


class RootfsBase(ImportedLayers):
    """The tarball becomes a blob of the store as it is; one that no engine reads (xz, bzip2) is stored unpacked."""

    def __init__(self, path: Path, store: Store) -> None:
        self._path = path
        self._store = store
        self._source = f"rootfs:{path}"

    def resolve(self, platform: Platform) -> BaseImage:
        """Import the tarball, once for a path, size and time; raises `ArchiveError`, `PlatformError`."""
        layer, scan = self._imported()
        if scan.machine and scan.machine != platform.architecture:
            cause = f"holds programs for linux/{scan.machine}, not {platform}"
            raise PlatformError(self._source, cause, f"build with --platform linux/{scan.machine}")
        config = {"Cmd": ["/bin/sh"], "Env": [PATH]}
        return made_image(self._source, platform, (layer,), (scan.diff_id,), config)

    def platforms(self) -> Iterator[Platform]:
        """The one that its programs are for."""
        machine = self._imported()[1].machine
        if machine:
            yield Platform("linux", machine)

    def _imported(self) -> tuple[Descriptor, Scan]:
        try:
            status = self._path.stat()
        except OSError as error:
            raise BaseNotFoundError(self._source, error.strerror or "cannot be read", "name a tarball") from error
        if not self._path.is_file():
            raise BaseNotFoundError(self._source, "is not a file", "name a tarball of a root file system")
        key = Digest.of(f"{self._path.absolute()} {status.st_size} {status.st_mtime_ns} {status.st_ino}".encode())
        memo = self._store.root / "bases" / f"{key.hex}.json"
        layer = self._remembered(memo) or self._import(memo)
        compression = next(c for c in _KEPT.values() if OCI.layer_type(c) == layer.media_type)
        return layer, scan_once(
            self._store, layer.digest, lambda: self._store.blobs.open(layer.digest), compression, self._source
        )

    def _remembered(self, memo: Path) -> Descriptor | None:
        try:
            layer = Descriptor.parse(json.loads(memo.read_bytes()))
        except (OSError, ValueError, ArchiveError):
            return None
        return layer if self._store.blobs.has(layer.digest, layer.size) else None

    def _import(self, memo: Path) -> Descriptor:
        """Scan first, so that nothing of a tarball that is refused stays; then copy."""
        with self._path.open("rb") as file:
            packing = packing_of(file.read(16))
            file.seek(0)
            scanned, digest = scan_file(file, packing, self._source)
            file.seek(0)
            compression = _KEPT.get(packing)
            if compression is not None:
                size = self._store.blobs.copy_in(file, digest)
            else:
                compression, digest = "none", scanned.diff_id
                with unpacked_stream(file, packing, self._source) as stream:
                    size = self._store.blobs.copy_in(stream, digest)
        remember(self._store, digest, scanned)
        layer = Descriptor(OCI.layer_type(compression), digest, size)
        memo.parent.mkdir(exist_ok=True)
        replace_file(memo, json.dumps(layer.as_json()).encode())
        return layer
