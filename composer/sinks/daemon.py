"""``docker-daemon:NAME``: into a container engine by ``/images/load``, with only the layers that it lacks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.engine_api import connected
from composer.errors import EngineError
from composer.plan.values import Plan
from composer.progress import Progress
from composer.sinks.archive import DockerArchive, OciArchive
from composer.sinks.sink import BlobReader, Written
from composer.store.store import Store

if TYPE_CHECKING:
    from docker import DockerClient


class DaemonSink:
    """An engine's image store, under ``name``."""

    def __init__(self, name: str, store: Store, source: str) -> None:
        self._name = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
        self._store = store
        self._source = source

    def has(self, plan: Plan) -> bool:
        """Whether the name is this image: an engine's image ID is its config's digest, or its manifest's."""
        with connected() as client:
            return self._identity(client) in (plan.config_digest, plan.manifest_digest)

    def apply(self, plan: Plan, read: BlobReader, progress: Progress) -> Written:
        """Load it and compare what the engine made of it; a name that it gave to another image is put back."""
        with connected() as client:
            moved, before = 0, self._identity(client)
            if before not in (plan.config_digest, plan.manifest_digest):
                moved, refused = self._load(client, plan, read, progress)
                found = self._identity(client)
                if refused or found not in (plan.config_digest, plan.manifest_digest):
                    self._put_back(client, before, found)
                    cause = refused or f"made {found or 'nothing'} of the image {plan.config_digest}"
                    raise EngineError(self._source, f"the engine did not load the image: {cause}", "see its log")
        return Written(f"docker-daemon:{self._name}", plan.manifest_digest, plan.config_digest, moved)

    def _load(self, client: DockerClient, plan: Plan, read: BlobReader, progress: Progress) -> tuple[int, str]:
        """Send the archive; returns the bytes of layers sent, and what the engine said against it."""
        path = Path(self._name)
        # A containerd store tags an image whose layers it lacks and breaks on it, so there nothing is left out.
        whole = _keeps_manifests(client.api.info())
        archive = OciArchive(path, self._name) if whole else DockerArchive(path, self._name, _present(client, plan))
        with tempfile.TemporaryFile(dir=self._store.root / "tmp", prefix="load-") as file:
            moved = archive.write(file, plan, read, progress)
            file.seek(0)
            rows: list[dict[str, Any]] = list(client.api.load_image(file, quiet=True))  # type: ignore[no-untyped-call]
        texts = [str(row.get("error") or row.get("stream") or "").strip() for row in rows]
        # The status is 200 whatever happens (design, buildkit.md, "Thin load").
        bad = [text for row, text in zip(rows, texts, strict=True) if "error" in row or "Error unpacking" in text]
        return moved, bad[0][:300] if bad else ""

    def _identity(self, client: DockerClient) -> str | None:
        import docker

        try:
            return str(client.api.inspect_image(self._name)["Id"])  # type: ignore[no-untyped-call]
        except docker.errors.ImageNotFound:
            return None

    def _put_back(self, client: DockerClient, before: str | None, found: str | None) -> None:
        """Take the name from what was loaded, and give it to what had it before."""
        if found is not None and found != before:
            client.api.remove_image(self._name, noprune=True)
        if before is not None and found != before:
            repository, _, tag = self._name.rpartition(":")
            client.api.tag(before, repository, tag)


def _keeps_manifests(info: dict[str, Any]) -> bool:
    return any("io.containerd.snapshotter" in str(row) for row in info.get("DriverStatus") or [])


def _present(client: DockerClient, plan: Plan) -> int:
    """How many of the first layers some image of the engine has in the same order: those are not sent."""
    wanted = [str(blob.diff_id) for blob in plan.layers]
    best = 0
    for row in client.api.images(all=True):
        found = client.api.inspect_image(row["Id"])  # type: ignore[no-untyped-call]
        layers = found.get("RootFS", {}).get("Layers") or []
        same = 0
        for ours, theirs in zip(wanted, layers, strict=False):
            if ours != theirs:
                break
            same += 1
        best = max(best, same)
    return best
