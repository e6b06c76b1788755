"""One request as a caller sees it: its events one by one, its reply at the end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol, Self

from agent_stub.wire.errors import WireError
from composer.client.connection import CancelMode, Event, Reply
from composer.errors import ComposerError

Outcome = Reply | ComposerError


class Sender(Protocol):
    """What a request needs of its agent."""

    def consumed(self, name: bytes, size: int) -> None:
        """Events of that size were taken."""
        ...

    def cancel(self, name: bytes, mode: CancelMode) -> None:
        """End the request."""
        ...


class Request:
    """A request under way: iterate over its events, await `reply`; leaving its ``async with`` early cancels it."""

    def __init__(self, sender: Sender, error: Callable[[WireError], ComposerError]) -> None:
        self.id = b""
        self._sender = sender
        self._error = error
        self._events: deque[Event] = deque()
        self._woken = asyncio.Event()
        self._outcome: Outcome | None = None

    def on_event(self, event: Event) -> None:
        """An event came."""
        self._events.append(event)
        self._woken.set()

    def on_final(self, final: Reply | WireError) -> None:
        """The final message came."""
        self._outcome = self._error(final) if isinstance(final, WireError) else final
        self._woken.set()

    def cancel(self, mode: CancelMode = "int") -> None:
        """Ask the agent to end it; `reply` then tells how it ended."""
        self._sender.cancel(self.id, mode)

    async def reply(self) -> Reply:
        """The reply, once it is there; events that nobody took are dropped. Raises the error that came instead."""
        while self._outcome is None:
            self._take_all()
            self._woken.clear()
            await self._woken.wait()
        if isinstance(self._outcome, ComposerError):
            raise self._outcome
        return self._outcome

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._outcome is not None:
                raise StopAsyncIteration
            self._woken.clear()
            await self._woken.wait()
        event = self._events.popleft()
        self._sender.consumed(self.id, event.size)
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        if self._outcome is None:
            self.cancel()

    def _take_all(self) -> None:
        while self._events:
            self._sender.consumed(self.id, self._events.popleft().size)
