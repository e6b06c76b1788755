"""``docker-daemon:NAME``: an image of a container engine, read once by ``docker save`` into the store."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from composer.bases.archive import DockerArchiveBase
from composer.bases.base import BaseImage
from composer.bases.imported import ImportedLayers
from composer.engine_api import connected, image_attributes
from composer.errors import PlatformError, UsageError
from composer.oci.config import Config
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.index import matches
from composer.oci.mediatype import DOCKER
from composer.oci.platform import Platform
from composer.plan.append import render_manifest
from composer.store.replace import replace_file
from composer.store.store import Store


class DaemonBase(ImportedLayers):
    """An engine's image.

    Its ID is its config's digest, or on a containerd image store its manifest's: a key for what was saved, no more.
    """

    def __init__(self, name: str, store: Store, source: str) -> None:
        self._name = name
        self._store = store
        self._source = source

    def resolve(self, platform: Platform) -> BaseImage:
        """Ask the engine for the image's ID, and for the image when the store has not seen it."""
        with connected() as client:
            attributes = image_attributes(client, self._name, self._source)
            kept = self._kept(attributes)
            if kept is None:
                with tempfile.TemporaryDirectory(dir=self._store.root / "tmp", prefix="save-") as folder:
                    archive = Path(folder) / "image.tar"
                    with archive.open("wb") as file:
                        for chunk in client.api.get_image(self._name):
                            file.write(chunk)
                    kept = DockerArchiveBase(archive, None, self._store, self._source).resolve(platform)
                self._store.blobs.put(kept.config)
                self._remember(attributes, kept)
        if not matches(kept.platform, platform):
            cause = f"is for {kept.platform}, not {platform}"
            raise PlatformError(self._source, cause, f"build with --platform {kept.platform}")
        return kept

    def _memo(self, attributes: dict[str, Any]) -> Path:
        """Where the config's digest of this ID is kept; one ID of a containerd store may be of several platforms."""
        names = [str(attributes.get(key) or "") for key in ("Id", "Os", "Architecture", "Variant")]
        return self._store.root / "bases" / f"{Digest.of(' '.join(['docker-daemon', *names]).encode()).hex}.json"

    def _remember(self, attributes: dict[str, Any], image: BaseImage) -> None:
        memo = self._memo(attributes)
        memo.parent.mkdir(exist_ok=True)
        replace_file(memo, json.dumps({"config": Digest.of(image.config)}).encode())

    def _kept(self, attributes: dict[str, Any]) -> BaseImage | None:
        """The image from the store, when it has the config and every layer as the engine saves it, uncompressed."""
        try:
            identity = Digest.parse(json.loads(self._memo(attributes).read_bytes())["config"])
        except (OSError, ValueError, KeyError, TypeError, UsageError):
            return None
        if not self._store.blobs.has(identity):
            return None
        data = self._store.blobs.read(identity)
        if Digest.of(data) != identity:
            return None
        config = Config.parse(data, self._source)
        if not all(self._store.blobs.has(diff_id) for diff_id in config.diff_ids):
            return None
        layers = tuple(
            Descriptor(DOCKER.layer_type("none"), diff_id, self._store.blobs.path(diff_id).stat().st_size)
            for diff_id in config.diff_ids
        )
        manifest = render_manifest(DOCKER, data, list(layers))
        return BaseImage(
            self._source, config.platform, DOCKER, Digest.of(manifest), manifest, data, layers, config.diff_ids
        )

    def platforms(self) -> Iterator[Platform]:
        """The image's."""
        with connected() as client:
            attributes = image_attributes(client, self._name, self._source)
        yield Platform(attributes["Os"], attributes["Architecture"], attributes.get("Variant") or "")
