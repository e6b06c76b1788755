"""What a handler of an operation sees of the request that it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

CancelMode = Literal["int", "term", "kill", "detach"]


class Call(Protocol):
    """One running request. Handlers are ``async def handler(body, call) -> Answer``.

    ``body`` is the operation's request class, already checked; ``raw`` are the raw frames behind it. Bodies of events
    and answers are body classes or plain maps.
    """

    @property
    def id(self) -> bytes:
        """The request's id, 16 bytes."""
        ...

    @property
    def raw(self) -> tuple[bytes, ...]:
        """The request's raw frames."""
        ...

    def emit(self, name: str, body: Any, *raw: bytes) -> None:
        """Send an event, or keep it for a client that has no credit or is away; never blocks, never raises."""
        ...

    async def drain(self) -> None:
        """Wait until the client has taken most of what was emitted: for sources that can wait and must lose nothing."""
        ...

    def on_cancel(self, stop: Callable[[CancelMode], None]) -> None:
        """Have ``stop`` called when the client cancels; without one the handler's task is cancelled.

        ``detach`` never reaches ``stop``: the request goes on without a listener.
        """
        ...


class Answer:
    """A reply's body and raw frames."""

    __slots__ = ("body", "raw")

    def __init__(self, body: Any, *raw: bytes) -> None:
        self.body = body
        self.raw = raw
