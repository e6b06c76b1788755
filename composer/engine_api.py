"""The engine API of Docker and of Podman's compatible socket, by the ``docker`` package; its errors mapped to ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from composer.errors import BaseNotFoundError, EngineError, EngineMissingError

if TYPE_CHECKING:
    from docker import DockerClient

_START = "start Docker or Podman's socket, or name it in DOCKER_HOST"


@contextmanager
def connected(timeout: int = 600) -> Iterator[DockerClient]:
    """A client of the engine that DOCKER_HOST names, or of the usual socket.

    Raises `EngineMissingError` when none answers, `EngineError` for what the engine refuses.
    """
    import docker
    import requests

    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    try:
        client = docker.from_env(timeout=timeout)
    except docker.errors.DockerException as error:
        raise EngineMissingError(host, f"no container engine answers ({_reason(error)})", _START) from error
    try:
        yield client
    except docker.errors.APIError as error:
        raise EngineError(host, f"the engine refused: {error.explanation or error}", "see its log") from error
    except requests.exceptions.RequestException as error:
        raise EngineError(host, f"the connection to the engine failed ({_reason(error)})", _START) from error
    finally:
        client.close()


def image_attributes(client: DockerClient, name: str, source: str) -> dict[str, Any]:
    """What the engine says of an image; raises `BaseNotFoundError`."""
    import docker

    try:
        return dict(client.api.inspect_image(name))  # type: ignore[no-untyped-call]
    except docker.errors.ImageNotFound as error:
        raise BaseNotFoundError(source, "the engine has no such image", f"pull it first: docker pull {name}") from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[-160:]
