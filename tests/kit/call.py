"""A request as a handler sees it, kept in memory: for tests that call handlers directly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agent_stub.exchange.call import CancelMode


class MemoryCall:
    """Keeps the events; `cancel` does what a client's cancel would."""

    def __init__(self, *raw: bytes) -> None:
        self.id = bytes(16)
        self.raw = raw
        self.events: list[tuple[str, Any, tuple[bytes, ...]]] = []
        self.first_event: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop: Callable[[CancelMode], None] | None = None

    def emit(self, name: str, body: Any, *raw: bytes) -> None:
        """Keep an event."""
        self.events.append((name, body, raw))
        if not self.first_event.done():
            self.first_event.set_result(None)

    async def drain(self) -> None:
        """The memory takes everything at once."""

    def on_cancel(self, stop: Callable[[CancelMode], None]) -> None:
        """Remember how to stop."""
        self._stop = stop

    def cancel(self, mode: CancelMode) -> None:
        """Cancel as a client would."""
        assert self._stop is not None, "the handler has not said yet how it is stopped"
        self._stop(mode)

    def streamed(self, name: str = "output") -> bytes:
        """All bytes of the events called ``name``, in order."""
        return b"".join(b"".join(raw) for event, _, raw in self.events if event == name)
