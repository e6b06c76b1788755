"""The embedded engine: runs composed images of the local store without a daemon, by crun, runc or bubblewrap."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from composer.errors import AgentLostError, SandboxNotFoundError
from composer.runtime.engine import Probe, Running, SandboxInfo, SandboxOptions
from composer.runtime.follow import follow_file
from composer.runtime.prepare import Prepared, prepare
from composer.runtime.probe import PROGRAMS, choose, probe_all
from composer.runtime.state import SandboxFolder, sandbox_folders
from composer.store.store import Store

_SHIM = Path(__file__).with_name("shim.py")
_READY_SECONDS = 30.0
P = ParamSpec("P")
T = TypeVar("T")


class OciEngine:
    """Sandboxes as folders of the store. ``programs`` narrows or reorders which runtimes are tried."""

    name = "oci"

    def __init__(self, store: Store, programs: tuple[str, ...] = tuple(PROGRAMS)) -> None:
        self._store = store
        self._programs = programs
        self._lifelines: dict[str, int] = {}

    async def start(self, options: SandboxOptions) -> Running:
        """Start a sandbox and wait for its agent's word; see `Engine.start`."""
        program = await asyncio.to_thread(choose, self._store, self._programs)
        folder = SandboxFolder(self._store, options.name)
        lock = folder.create()
        try:
            prepared = await _uninterrupted(prepare, folder, options, program)
            with contextlib.closing(prepared.notify):
                (folder.path / "shim.json").write_text(json.dumps(prepared.plan))
                folder.save(
                    {
                        "image": options.image,
                        "started": time.time(),
                        "endpoint": prepared.endpoint,
                        "token": prepared.token.decode(),
                        "labels": dict(options.labels),
                    }
                )
                await self._launch(folder, options, prepared, lock)
        except BaseException:
            os.close(lock)
            self._close_lifeline(options.name)
            await _uninterrupted(folder.end, 0.0)
            raise
        os.close(lock)
        return Running(options.name, self.name, prepared.endpoint, prepared.token)

    async def _launch(self, folder: SandboxFolder, options: SandboxOptions, prepared: Prepared, lock: int) -> None:
        """Start the shim and wait for whichever comes first: the agent's datagram, or the shim's end."""
        report, write = os.pipe()
        lifeline = -1
        if options.owned:
            lifeline, self._lifelines[options.name] = os.pipe()
        passed = [fd for fd in (write, lifeline, lock) if fd >= 0]
        command = [sys.executable, "-I", "-S", str(_SHIM), str(folder.path), str(write), str(lifeline), str(lock)]
        try:
            try:
                await _uninterrupted(_spawn, command, folder.path / "log", passed)
            finally:
                for handle in passed[:-1]:
                    os.close(handle)
            failure = await _first(prepared, report)
        finally:
            os.close(report)
        if failure is not None:
            cause = f"the agent ended before it was ready: {failure or 'it wrote nothing'}"
            raise AgentLostError(options.name, cause, "see the cause, and start it again")

    async def connect(self, name: str) -> Running:
        """Where a running sandbox's agent is; raises `SandboxNotFoundError`."""
        folder = SandboxFolder(self._store, name)
        state = folder.load()
        if not folder.alive():
            raise SandboxNotFoundError(name, "the sandbox has ended", "start another")
        return Running(name, self.name, state["endpoint"], state["token"].encode())

    async def remove(self, name: str, grace: float = 1.0) -> None:
        """End and remove; see `Engine.remove`."""
        folder = SandboxFolder(self._store, name)
        if not folder.path.is_dir() and name not in self._lifelines:
            raise SandboxNotFoundError(name, "no sandbox has this name", "composer ls shows them")
        await _uninterrupted(folder.end, grace)
        self._close_lifeline(name)

    async def sandboxes(self) -> list[SandboxInfo]:
        """Every sandbox of this store; what killed shims left is shown as dead."""
        rows = []
        for folder in sandbox_folders(self._store):
            with contextlib.suppress(SandboxNotFoundError):
                state = folder.load()
                rows.append(
                    SandboxInfo(
                        folder.name, self.name, state["image"], "running" if folder.alive() else "dead",
                        state["started"], state["endpoint"], state["labels"],
                    )
                )  # fmt: skip
        return rows

    async def sandboxes_if_any(self) -> list[SandboxInfo]:
        """As `sandboxes`; an engine that is not there has none."""
        return await self.sandboxes()

    async def logs(self, name: str, *, follow: bool = False) -> AsyncIterator[bytes]:
        """What agent and runtime wrote; with ``follow`` until the sandbox ends."""
        folder = SandboxFolder(self._store, name)
        folder.load()
        async for piece in follow_file(folder.path / "log", follow=follow):
            yield piece

    async def probe(self) -> list[Probe]:
        """Run a probe container with each program, now."""
        return await asyncio.to_thread(probe_all, self._store)

    def _close_lifeline(self, name: str) -> None:
        handle = self._lifelines.pop(name, None)
        if handle is not None:
            os.close(handle)


def _spawn(command: list[str], log: Path, passed: list[int]) -> None:
    """Start the shim; returns once it has detached itself and written its pid."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=handle, stderr=handle, pass_fds=passed, check=False)
    finally:
        os.close(handle)


async def _uninterrupted(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run in a thread; a cancel waits for the thread, so that nothing is cleaned under its hands."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **named))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None and isinstance(made := task.result(), Prepared):
            made.notify.close()
        raise


async def _first(prepared: Prepared, report: int) -> str | None:
    """None when the agent is ready; otherwise what the shim reported (perhaps nothing) before it ended."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str | None] = loop.create_future()

    awaited = {b"READY", b"NETWORK"} if prepared.plan["network"] else {b"READY"}

    def ready() -> None:
        awaited.discard(prepared.notify.recv(4096).partition(b"=")[0])
        if not awaited and not done.done():
            done.set_result(None)

    def ended() -> None:
        data = os.read(report, 4096)
        if not done.done():
            done.set_result(data.decode(errors="replace").strip())

    os.set_blocking(report, False)
    loop.add_reader(prepared.notify, ready)
    loop.add_reader(report, ended)
    try:
        return await asyncio.wait_for(done, _READY_SECONDS)
    except TimeoutError:
        return f"it did not say within {_READY_SECONDS:.0f} seconds that it listens"
    finally:
        loop.remove_reader(prepared.notify)
        loop.remove_reader(report)
