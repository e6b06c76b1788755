"""The agent's own operations, and what stands behind them; sessions and files are imported at their first use."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agent_stub.exchange.call import Answer, Call
from agent_stub.plugin import ALL_PLUGINS, Handler
from agent_stub.wire.header import VERSION
from agent_stub.wire.limits import Limits
from agent_stub.wire.operations import Operations
from agent_stub.wire.operations.core import Empty, Hello, HelloReply, Operation, Shutdown

if TYPE_CHECKING:
    from agent_stub.files.files import Files
    from agent_stub.sessions.sessions import Sessions


class Catalog(Mapping[str, tuple[Operation, Handler]]):
    """Operations with their handlers, each made when it is first asked for."""

    def __init__(self, operations: Operations, handler: Callable[[str], Handler]) -> None:
        self._operations = operations
        self._handler = handler
        self._made: dict[str, tuple[Operation, Handler]] = {}

    def __getitem__(self, name: str) -> tuple[Operation, Handler]:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = (self._operations[name], self._handler(name))
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._operations)

    def __len__(self) -> int:
        return len(self._operations)


class Builtin:
    """Answers `hello` and `shutdown` itself and hands the rest to `Sessions` and `Files`.

    ``stop`` is called with the seconds of grace when a client asks for the end.
    """

    def __init__(self, boot_id: str, limits: Limits, stop: Callable[[float], None]) -> None:
        self._boot_id = boot_id
        self._limits = limits
        self._stop = stop

    @cached_property
    def sessions(self) -> Sessions:
        """Shells and programs."""
        from agent_stub.sessions.sessions import Sessions

        return Sessions()

    @cached_property
    def files(self) -> Files:
        """File operations."""
        from agent_stub.files.files import Files

        return Files()

    def operations(self) -> Mapping[str, tuple[Operation, Handler]]:
        """Each operation with its handler."""
        return Catalog(Operations(), self._handler)

    def warm(self) -> None:
        """Import what the first command needs, and reap orphans from now on."""
        _ = self.sessions

    async def close(self) -> None:
        """End every session and program."""
        if "sessions" in self.__dict__:
            await self.sessions.close_all()

    def _handler(self, name: str) -> Handler:
        own: dict[str, Handler] = {"hello": self._hello, "shutdown": self._shutdown}
        if name in own:
            return own[name]
        part, _, verb = name.rpartition(".")
        owner = "files" if part == "file" else "sessions"

        async def answer(body: Any, call: Call) -> Answer:
            handler: Handler = getattr(getattr(self, owner), verb)
            return await handler(body, call)

        return answer

    async def _hello(self, _body: Hello, _call: Call) -> Answer:
        return Answer(self._reply)

    @cached_property
    def _reply(self) -> HelloReply:
        return HelloReply(
            protocol=VERSION,
            boot_id=self._boot_id,
            agent_digest=_own_digest(),
            operations=list(Operations()),
            plugins=list(ALL_PLUGINS),
            limits=self._limits.announced(),
            pid=os.getpid(),
            uid=os.getuid(),
            python=platform.python_version(),
        )

    async def _shutdown(self, body: Shutdown, _call: Call) -> Answer:
        self._stop(body.grace)
        return Answer(Empty())


def _own_digest() -> str:
    """Digest of the zip file that this module was loaded from."""
    archive = getattr(sys.modules[__name__].__loader__, "archive", None)
    if not isinstance(archive, str):
        return ""
    with open(archive, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
