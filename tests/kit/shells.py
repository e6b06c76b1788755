"""Real shells for the session suite, and an agent's sessions without the wire."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_stub.exchange.call import Answer
from agent_stub.sessions.sessions import Sessions
from agent_stub.wire.operations.session import Run, SessionClose, SessionOpen
from tests.kit.call import MemoryCall
from tests.kit.skip import unavailable


@dataclass(frozen=True)
class ShellKind:
    """A shell of the suite: the program, and the name (``bash`` or ``sh``) that it goes by."""

    name: str
    program: str
    bash: bool


KINDS = (
    ShellKind("bash", "bash", True),
    ShellKind("bash-static", "bash-static", True),
    ShellKind("dash", "dash", False),
    ShellKind("busybox-ash", "busybox", False),
)


class OpenSession:
    """A session named ``main`` of one kind of shell."""

    def __init__(self, sessions: Sessions, kind: ShellKind) -> None:
        self.sessions = sessions
        self.kind = kind

    async def run(self, command: str | bytes, **fields: Any) -> Answer:
        """Run to the end; the test fails when that takes half a minute."""
        call = fields.pop("call", None) or MemoryCall()
        async with asyncio.timeout(30):
            return await self.sessions.run(Run(command=command, **fields), call)

    async def output(self, command: str | bytes, **fields: Any) -> bytes:
        """What a command prints."""
        return (await self.run(command, **fields)).raw[0]


@asynccontextmanager
async def opened(kind: ShellKind, folder: Path, **fields: Any) -> AsyncIterator[OpenSession]:
    """Sessions with one open, whose PATH finds ``kind`` first."""
    program = shutil.which(kind.program)
    if program is None:
        unavailable(f"{kind.program} is not installed")
    name = "bash" if kind.bash else "sh"
    (folder / "bin").mkdir(exist_ok=True)
    if not (folder / "bin" / name).is_symlink():
        (folder / "bin" / name).symlink_to(program)
    env = {"PATH": f"{folder}/bin:/usr/bin:/bin", **fields.pop("env", {})}
    sessions = Sessions()
    try:
        async with asyncio.timeout(10):
            await sessions.open(
                SessionOpen(session="main", shell="bash" if kind.bash else "sh", env=env, **fields), MemoryCall()
            )
        yield OpenSession(sessions, kind)
        await sessions.close(SessionClose(session="main"), MemoryCall())
    finally:
        await sessions.close_all()


async def survivors(marker: str) -> list[int]:
    """Processes with ``marker`` as an argument that outlive a signal by half a second: kill(2) does not wait."""
    deadline = asyncio.get_running_loop().time() + 0.5
    while (found := alive(marker)) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return found


def alive(marker: str) -> list[int]:
    """Processes, zombies aside, that have ``marker`` as an argument."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if marker.encode() in Path("/proc", name, "cmdline").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                continue
    return found
