"""Sandboxes as containers of Docker, or of Podman's compatible socket (``DOCKER_HOST``)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from composer.errors import (
    AgentLostError,
    BaseNotFoundError,
    ComposerError,
    EngineError,
    EngineMissingError,
    SandboxNotFoundError,
    UnsupportedError,
)
from composer.runtime.dockerfiles import AGENT_PORT, create_arguments, token_archive
from composer.runtime.engine import Probe, Running, SandboxInfo, SandboxOptions

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_LABEL, _TOKEN = "composer.sandbox", "composer.token-file"
_READY_SECONDS = 30.0


class DockerEngine:
    """The agent is reached over a port published on 127.0.0.1, with a token that is put in as a file."""

    name = "docker"

    def __init__(self, host: str | None = None) -> None:
        self._host = host
        self._lifelines: dict[str, Any] = {}

    async def start(self, options: SandboxOptions) -> Running:
        """Start a sandbox and wait for its agent's word; see `Engine.start`."""
        cancelled = threading.Event()
        task = asyncio.ensure_future(asyncio.to_thread(self._start, options, cancelled))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled.set()
            with contextlib.suppress(ComposerError):
                await self.remove(options.name, 0.0)
            await asyncio.wait([task])
            if task.exception() is None:  # it had just become ready
                with contextlib.suppress(ComposerError):
                    await self.remove(options.name, 0.0)
            raise

    def _start(self, options: SandboxOptions, cancelled: threading.Event) -> Running:
        token = secrets.token_hex(32).encode()
        with self._client(options.name) as client:
            container = client.containers.create(**create_arguments(options))
            try:
                container.put_archive("/.oc", token_archive(token, _uid(container)))
                if options.owned:
                    self._lifelines[options.name] = container.attach_socket(params={"stdin": 1, "stream": 1})
                container.start()
                if cancelled.is_set():
                    raise AgentLostError(options.name, "the start was cancelled", "start again")
                self._wait_ready(container)
                return Running(options.name, self.name, _endpoint(container), token)
            except BaseException:
                self._forget(options.name)
                container.remove(force=True, v=True)
                raise

    def _wait_ready(self, container: Container) -> None:
        """Follow the logs up to the agent's ready line; a timer ends the wait by ending the container."""
        timer = threading.Timer(_READY_SECONDS, container.kill)
        timer.start()
        lines: list[bytes] = []
        try:
            for line in _lines(container.logs(stream=True, follow=True)):
                if _is_ready(line):
                    return
                lines = [*lines[-3:], line]
        finally:
            timer.cancel()
        text = b" | ".join(lines).decode(errors="replace")[-600:] or "it wrote nothing"
        raise AgentLostError(str(container.name), f"the agent ended before it was ready: {text}", "see the cause")

    async def connect(self, name: str) -> Running:
        """Where a running sandbox's agent is; raises `SandboxNotFoundError`."""
        return await asyncio.to_thread(self._connect, name)

    def _connect(self, name: str) -> Running:
        with self._client(name) as client:
            container = self._get(client, name)
            if container.status != "running":
                raise SandboxNotFoundError(name, f"the sandbox is {container.status}", "start another")
            return Running(name, self.name, _endpoint(container), _read_token(container))

    async def remove(self, name: str, grace: float = 1.0) -> None:
        """End and remove; see `Engine.remove`."""
        await asyncio.to_thread(self._remove, name, grace)

    def _remove(self, name: str, grace: float) -> None:
        with self._client(name) as client:
            container = self._get(client, name)
            if container.status == "running" and grace > 0:
                container.stop(timeout=max(1, round(grace)))
            container.remove(force=True, v=True)
        self._forget(name)

    async def sandboxes(self) -> list[SandboxInfo]:
        """Every container with our label."""
        return await asyncio.to_thread(self._sandboxes)

    def _sandboxes(self) -> list[SandboxInfo]:
        with self._client("docker") as client:
            found = client.containers.list(all=True, filters={"label": _LABEL})
            return [_info(container) for container in found]

    async def sandboxes_if_any(self) -> list[SandboxInfo]:
        """As `sandboxes`; an engine that is not there has none."""
        try:
            return await self.sandboxes()
        except EngineMissingError:
            return []

    async def logs(self, name: str, *, follow: bool = False) -> AsyncIterator[bytes]:
        """What the agent wrote; with ``follow`` until the sandbox ends."""
        with self._client(name) as client:
            container = await asyncio.to_thread(self._get, client, name)
            pieces = iter(await asyncio.to_thread(lambda: container.logs(stream=True, follow=follow)))
            while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                yield piece

    async def probe(self) -> list[Probe]:
        """Whether the daemon answers."""
        return [await asyncio.to_thread(self._probe)]

    def _probe(self) -> Probe:
        try:
            with self._client("docker") as client:
                version = client.version()
        except ComposerError as error:
            return Probe(self.name, False, error.cause, "docker.io")
        return Probe(self.name, True, f"version {version.get('Version', 'unknown')}", "docker.io")

    @contextlib.contextmanager
    def _client(self, what: str) -> Iterator[DockerClient]:
        """A connection whose errors are ours."""
        import docker
        import requests

        client = None
        try:
            client = docker.DockerClient(base_url=self._host) if self._host else docker.from_env()
            yield client
        except docker.errors.ImageNotFound as error:
            cause = error.explanation or "is not in the engine"
            raise BaseNotFoundError(what, str(cause), "build it into the engine first") from error
        except docker.errors.NotFound as error:
            raise SandboxNotFoundError(what, "no container has this name", "composer ls shows them") from error
        except docker.errors.APIError as error:
            raise EngineError(what, str(error.explanation or error), "see the engine's log") from error
        except (docker.errors.DockerException, requests.exceptions.ConnectionError) as error:
            where = self._host or os.environ.get("DOCKER_HOST", "the default socket")
            raise EngineMissingError("docker", f"no engine answers at {where}", "start it, or set DOCKER_HOST") from error
        finally:
            if client is not None:
                client.close()

    @staticmethod
    def _get(client: DockerClient, name: str) -> Container:
        container = client.containers.get(name)
        if _LABEL not in container.labels:
            raise SandboxNotFoundError(name, "the container of this name is no sandbox", "composer ls shows them")
        return container

    def _forget(self, name: str) -> None:
        lifeline = self._lifelines.pop(name, None)
        if lifeline is not None:
            lifeline.close()
            with contextlib.suppress(AttributeError, OSError):
                lifeline._response.close()


def _uid(container: Container) -> int:
    """The numeric uid of the container's user; 0 for names, whose file the agent reads before anyone else runs."""
    user = str(container.attrs["Config"].get("User") or "0").partition(":")[0]
    if not user.isdigit():
        raise UnsupportedError(f"user {user}", "the docker engine needs a number here", "use --user UID:GID")
    return int(user)


def _endpoint(container: Container) -> str:
    container.reload()
    if container.attrs["HostConfig"]["NetworkMode"] == "host":
        port: Any = container.labels[_LABEL]
    else:
        ports = container.attrs["NetworkSettings"]["Ports"].get(f"{AGENT_PORT}/tcp")
        if not ports:
            raise EngineError(str(container.name), "the engine did not publish the agent's port", "see the engine's log")
        port = ports[0]["HostPort"]
    return f"tcp://127.0.0.1:{port}"


def _read_token(container: Container) -> bytes:
    import io
    import tarfile

    pieces, _ = container.get_archive("/.oc/token")
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
        file = archive.extractfile(archive.getmembers()[0])
        return file.read() if file is not None else b""


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _is_ready(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("event") == "ready"


def _info(container: Container) -> SandboxInfo:
    state = container.attrs["State"]
    started = datetime.fromisoformat(container.attrs["Created"][:19] + "+00:00").timestamp()
    image = str(container.attrs["Config"]["Image"])
    labels = {key: value for key, value in container.labels.items() if key != _LABEL}
    running = bool(state["Running"])
    return SandboxInfo(str(container.name), "docker", image, "running" if running else "exited", started, None, labels)
