"""A connection to a container engine's API whose errors are ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from composer.errors import BaseNotFoundError, EngineError, EngineMissingError, SandboxNotFoundError

if TYPE_CHECKING:
    from docker import DockerClient


@contextmanager
def connected(host: str | None, what: str) -> Iterator[DockerClient]:
    """A client of ``host``, else of the environment's engine; ``what`` names the input in errors."""
    import docker
    import requests
    from docker import errors

    client = None
    try:
        client = docker.DockerClient(base_url=host) if host else docker.from_env()
        yield client
    except errors.ImageNotFound as error:
        raise BaseNotFoundError(what, f"{error.explanation}", "build the image into the engine first") from error
    except errors.NotFound as error:
        raise SandboxNotFoundError(what, "no container has this name", "composer ls shows them") from error
    except errors.APIError as error:
        raise EngineError(what, str(error.explanation or error), "see the engine's log") from error
    except (errors.DockerException, requests.exceptions.ConnectionError) as error:
        cause = f"no container engine answers at {endpoint(host)}"
        raise EngineMissingError(what, cause, "start it, or set DOCKER_HOST") from error
    finally:
        if client is not None:
            client.close()


def endpoint(host: str | None) -> str:
    """The engine's address as the docker package will take it."""
    return host or os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
