"""A client's connection and an agent's server in one process, with a link between them that can be cut."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from agent_stub.peers import Sender
from agent_stub.plugin import Handler
from agent_stub.server import Identity, Sent, Server
from agent_stub.wire.errors import WireError
from agent_stub.wire.limits import Limits
from agent_stub.wire.operations.core import Operation
from composer.client.connection import Connection, Event, Open, Reply

TOKEN = b"0123456789abcdef"


class Watched:
    """An open request and what came of it."""

    def __init__(self, op: str, body: dict[str, Any], credit: int | None) -> None:
        self.events: list[Event] = []
        self.finals: list[Reply | WireError] = []
        self.open = Open(op, body, (), self.events.append, self.finals.append, credit)
        self.id = b""

    @property
    def data(self) -> list[bytes]:
        """The first raw frame of each event, or its name."""
        return [event.raw[0] if event.raw else event.name.encode() for event in self.events]


class Link:
    """``up`` joins the two with a new identity, ``down`` cuts them; ``room`` bounds what is in flight to the client."""

    def __init__(
        self,
        operations: Mapping[str, tuple[Operation, Handler]],
        *,
        limits: Limits | None = None,
        token: bytes | None = TOKEN,
        agent_token: bytes | None = TOKEN,
    ) -> None:
        self.room: int | None = None
        self.refusals: list[WireError] = []
        self._operations = operations
        self._limits = limits or Limits()
        self._agent_token = agent_token
        self._serial = 0
        self._joined = False
        self._to_client: list[list[bytes]] = []
        self.connection = Connection(token, os.urandom, self._to_agent)
        self.connection.on_refused = self.refusals.append
        self.boot("boot-1")

    @property
    def sender(self) -> Sender:
        """The client as the agent sees it now."""
        return Sender(b"\0" + self._serial.to_bytes(4, "big"), 100 + self._serial)

    def boot(self, boot_id: str) -> None:
        """Put a new agent in the place of the old one."""
        identity = Identity(boot_id, self._agent_token, os.urandom, self._limits)
        self.server = Server(identity, self._operations, self._send)

    async def up(self) -> None:
        """Connect, and let everything settle."""
        self._serial += 1
        self._joined = True
        self.connection.connected()
        await self.settle()

    def down(self, *, told: bool = True) -> None:
        """Cut; what is in flight is lost. Without ``told`` the agent notices only when it sends."""
        self._joined = False
        self._to_client.clear()
        self.connection.disconnected()
        if told:
            self.server.disconnected(self.sender.connection)

    async def settle(self) -> None:
        """Deliver messages and run handlers until nothing moves."""
        for _ in range(20):
            waiting, self._to_client = self._to_client, []
            for frames in waiting:
                self.connection.receive(frames)
            if self.server.blocked:
                self.server.writable()
            await asyncio.sleep(0)

    async def ask(self, op: str, body: dict[str, Any] | None = None, *, credit: int | None = None) -> Watched:
        """Send a request and let everything settle."""
        watched = Watched(op, body or {}, credit)
        watched.id = self.connection.request(watched.open)
        await self.settle()
        return watched

    def _to_agent(self, frames: list[bytes]) -> None:
        if self._joined:
            self.server.receive(self.sender, frames)

    def _send(self, peer: bytes, frames: list[bytes]) -> Sent:
        if not self._joined or peer != self.sender.identity:
            return "gone"
        if self.room is not None and len(self._to_client) >= self.room:
            return "full"
        self._to_client.append(frames)
        return "sent"
