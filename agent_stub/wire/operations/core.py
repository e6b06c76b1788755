"""The agent itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent_stub.wire.schema import entry


@dataclass(frozen=True, slots=True)
class Empty:
    """A body without fields."""


@dataclass(frozen=True, slots=True)
class Hello:
    """Ask who is there."""


@dataclass(frozen=True, slots=True)
class HelloReply:
    """What the agent is and does."""

    protocol: int = entry("The protocol's version.")
    boot_id: str = entry("Random for each start of the agent: another one means that sessions are gone.")
    agent_digest: str = entry("sha256 of the agent's file, empty when it runs from a source tree.")
    operations: list[str] = entry("Names of the operations that it answers.")
    plugins: list[str] = entry("Names of its plugins.", default=[])
    limits: dict[str, int] = entry("Limits on what a peer may send.", default={})
    pid: int = entry("The agent's process id in the sandbox.", default=0)
    uid: int = entry("Its user id.", default=0)
    python: str = entry("The version of the runtime's Python.", default="")


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the agent and everything that it started."""

    grace: float = entry("Seconds until what is left is killed.", default=0.5, low=0, high=60)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The body of an error message."""

    code: str = entry("One of the error codes.")
    message: str = entry("For people.")
    errno: int | None = entry("The kernel's error number.", default=None)
    retryable: bool = entry("The same request may succeed later.", default=False)


@dataclass(frozen=True, slots=True)
class Cancel:
    """The body of a cancel message; its header carries the id of the request to end."""

    mode: str = entry("`int`, `term`, `kill` or `detach`.", default="int")


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the protocol's table."""

    name: str
    request: type[Any]
    reply: type[Any]
    events: tuple[tuple[str, type[Any]], ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """An event of any request: the agent keeps the events up to this sequence number no longer."""

    first: int = entry("The first event that is lost.")
    last: int = entry("The last event that is lost; also this event's sequence number.")
