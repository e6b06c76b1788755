"""Sandboxes as containers of Docker, or of Podman's compatible socket (``DOCKER_HOST``)."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from composer.errors import AgentLostError, ComposerError, SandboxNotFoundError, UnsupportedError
from composer.runtime import lifeline
from composer.runtime.container import (
    CONTROL,
    SANDBOX,
    account_of,
    agent_endpoint,
    applicable,
    checked,
    close_log,
    create_arguments,
    read_until_ready,
    sandbox_info,
    token_archive,
)
from composer.runtime.control import control_root, make_control, write_private
from composer.runtime.daemon import connected, endpoint
from composer.runtime.engine import Probe, Running, SandboxInfo, SandboxOptions

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_READY_SECONDS = 30.0


class DockerEngine:
    """The agent is reached over its socket in a mounted directory (local engines), or a port published on 127.0.0.1."""

    name = "docker"

    def __init__(self, host: str | None = None) -> None:
        self._host = host
        self._lifelines: dict[str, subprocess.Popen[bytes]] = {}

    async def start(self, options: SandboxOptions) -> Running:
        """Start a sandbox and wait for its agent's word; see `Engine.start`."""
        cancelled = threading.Event()
        task = asyncio.ensure_future(asyncio.to_thread(self._start, options, cancelled))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.wait([task])
            if task.exception() is None:  # it had just become ready
                with contextlib.suppress(ComposerError):
                    await self.remove(options.name, 0.0)
            raise

    def _start(self, options: SandboxOptions, cancelled: threading.Event) -> Running:
        if options.transport == "ipc" and not endpoint(self._host).startswith(("unix://", "http+unix://")):
            raise UnsupportedError(endpoint(self._host), "is no local engine", "use --transport tcp --network bridge")
        token = secrets.token_hex(32).encode()
        control = control_root() / secrets.token_hex(6)
        with self._connected(options.image) as client:
            limits = applicable(options.limits, client.info())
            control.mkdir(mode=0o700)  # or the engine makes it, for everyone to read
            container = None
            try:
                container = client.containers.create(**create_arguments(options, control, limits))
                if options.owned:
                    host = endpoint(self._host)
                    self._lifelines[options.name] = lifeline.start(host, str(container.id), control)
                self._hand_over(container, options, control, token)
                container.start()
                _wait_ready(container, cancelled)
                container.reload()
                return Running(options.name, self.name, agent_endpoint(container), token)
            except BaseException:
                if container is not None:
                    container.remove(force=True, v=True)
                    self._forget(options.name, control)
                lifeline.forget_control(control)
                raise

    def _hand_over(self, container: Container, options: SandboxOptions, control: Path, token: bytes) -> None:
        """Put the token where the agent finds it, and where a later `connect` does."""
        who = account_of(container)
        write_private(control.with_suffix(".token"), token)
        if options.transport == "ipc":
            make_control(control, token, who).close()  # the log says when it is ready
            (control / "notify").unlink()
        else:
            container.put_archive("/.oc", token_archive(token, who))

    async def connect(self, name: str) -> Running:
        """Where a running sandbox's agent is; raises `SandboxNotFoundError`."""
        return await asyncio.to_thread(self._connect, name)

    def _connect(self, name: str) -> Running:
        with self._connected(name) as client:
            container = checked(client.containers.get(name))
            if container.status != "running":
                raise SandboxNotFoundError(name, f"the sandbox is {container.status}", "start another")
            try:
                token = Path(container.labels[CONTROL]).with_suffix(".token").read_bytes()
            except OSError as error:
                raise SandboxNotFoundError(name, "was started elsewhere: its token is not here", "start one") from error
            return Running(name, self.name, agent_endpoint(container), token)

    async def remove(self, name: str, grace: float = 1.0) -> None:
        """End and remove; see `Engine.remove`."""
        await asyncio.to_thread(self._remove, name, grace)

    def _remove(self, name: str, grace: float) -> None:
        with self._connected(name) as client:
            container = checked(client.containers.get(name))
            if grace > 0 and container.status == "running":
                container.stop(timeout=max(1, round(grace)))
            container.remove(force=True, v=True)
            self._forget(name, Path(container.labels[CONTROL]))

    async def sandboxes(self) -> list[SandboxInfo]:
        """Every container with our label."""
        return await asyncio.to_thread(self._sandboxes)

    def _sandboxes(self) -> list[SandboxInfo]:
        with self._connected("docker") as client:
            found = client.containers.list(all=True, filters={"label": SANDBOX}, ignore_removed=True)
            return [sandbox_info(container) for container in found]

    async def sandboxes_if_any(self) -> list[SandboxInfo]:
        """As `sandboxes`; an engine that is not there has none."""
        try:
            return await self.sandboxes()
        except ComposerError:
            return []

    async def logs(self, name: str, *, follow: bool = False) -> AsyncIterator[bytes]:
        """What the agent wrote; with ``follow`` until the sandbox ends."""
        with self._connected(name) as client:
            container = checked(await asyncio.to_thread(client.containers.get, name))
            pieces = await asyncio.to_thread(lambda: container.logs(stream=True, follow=follow))
            try:
                while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                    yield piece
            finally:
                close_log(pieces)

    async def probe(self) -> list[Probe]:
        """Whether the engine answers."""
        return [await asyncio.to_thread(self._probe)]

    def _probe(self) -> Probe:
        try:
            with self._connected("docker") as client:
                return Probe(self.name, True, f"version {client.version()['Version']}", "docker.io")
        except ComposerError as error:
            return Probe(self.name, False, error.cause, "docker.io")

    def _connected(self, what: str) -> contextlib.AbstractContextManager[DockerClient]:
        return connected(self._host, what)

    def _forget(self, name: str, control: Path) -> None:
        owner = self._lifelines.pop(name, None)
        if owner is not None:
            lifeline.release(owner)
        lifeline.forget_control(control)


def _wait_ready(container: Container, cancelled: threading.Event) -> None:
    """Follow the log up to the agent's ready line; a cancel or the time limit ends the container and so the log."""
    from docker import errors

    def watch() -> None:
        cancelled.wait(_READY_SECONDS)
        if not done.is_set():
            with contextlib.suppress(errors.APIError):  # it may just have ended
                container.kill()

    done = threading.Event()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    log = container.logs(stream=True, follow=True)
    try:
        failure = read_until_ready(log)
    finally:
        done.set()
        close_log(log)
    interrupted = cancelled.is_set()
    cancelled.set()  # releases the watcher
    watcher.join()
    if interrupted or failure is not None:
        why = failure or "the start was cancelled"
        raise AgentLostError(str(container.name), f"the agent ended before it was ready: {why}", "start again")
