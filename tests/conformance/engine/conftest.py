"""Every engine under test, each with an image that it can start."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from composer.env.lock import Lock
from composer.runtime.docker import DockerEngine
from composer.runtime.engine import Engine, SandboxOptions
from composer.runtime.oci import OciEngine
from composer.runtime.probe import run_probe
from composer.store.store import Store
from tests.kit.bases import shared
from tests.kit.dockerd import docker_host
from tests.kit.image import alpine_image, compose
from tests.kit.sandboxes import sandbox_store
from tests.kit.skip import unavailable

__all__ = ["alpine_image", "docker_host", "sandbox_store"]


@dataclass(frozen=True)
class Subject:
    """An engine, and an image for it."""

    engine: Engine
    image: str

    def options(self, name: str, **more: object) -> SandboxOptions:
        return SandboxOptions(self.image, name, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def docker_image(docker_host: str, core_lock: Lock, core_store: Store, tmp_path_factory: pytest.TempPathFactory) -> str:
    import docker

    archive: Path = tmp_path_factory.mktemp("archive") / "image.tar"
    compose(shared("alpine-3.20.3"), core_lock, core_store, f"docker-archive:{archive}", "engine-test:1")
    client = docker.DockerClient(base_url=docker_host)
    try:
        with archive.open("rb") as file:
            return str(client.images.load(file)[0].id)
    finally:
        client.close()


@pytest.fixture(autouse=True)
def private_controls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Control directories of this test alone; short, for the sockets in them."""
    with tempfile.TemporaryDirectory(prefix="oc-run-", dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture(params=["crun", "runc", "bubblewrap", "docker"])
def subject(request: pytest.FixtureRequest, sandbox_store: Store) -> Iterator[Subject]:
    if request.param == "docker":
        yield Subject(DockerEngine(request.getfixturevalue("docker_host")), request.getfixturevalue("docker_image"))
        return
    if (reason := run_probe(request.param)) is not None:
        unavailable(f"{request.param} runs no container here: {reason}", obtainable=False)
    yield Subject(OciEngine(sandbox_store, (request.param,)), request.getfixturevalue("alpine_image"))
