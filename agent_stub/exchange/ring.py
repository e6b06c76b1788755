"""The latest events of a request, kept until they are sent and for a replay after that, bounded in bytes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event as frames: its number (from 1), its size, and the bytes of all events up to and with it."""

    seq: int
    frames: list[bytes]
    size: int
    end: int


class Budget:
    """Bytes that all rings together hold."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0


class Ring:
    """Events ``first`` to ``last``; the oldest are dropped when there are too many bytes, the newest never.

    ``total`` are the bytes of all events ever, ``dropped`` of those that are gone.
    """

    __slots__ = ("_budget", "_events", "_limit", "dropped", "first", "last", "total")

    def __init__(self, limit: int, budget: Budget) -> None:
        self._events: deque[Event] = deque()
        self._limit = limit
        self._budget = budget
        self.first = 1
        self.last = 0
        self.total = 0
        self.dropped = 0

    @property
    def size(self) -> int:
        """Bytes held."""
        return self.total - self.dropped

    def append(self, frames: list[bytes]) -> None:
        """Keep an event; its number is ``last + 1``."""
        size = sum(map(len, frames))
        self.last += 1
        self.total += size
        self._budget.used += size
        self._events.append(Event(self.last, frames, size, self.total))
        while len(self._events) > 1 and (self.size > self._limit or self._budget.used > self._budget.limit):
            self._drop()

    def get(self, seq: int) -> Event:
        """The event ``seq``, which is between ``first`` and ``last``."""
        return self._events[seq - self.first]

    def after(self, seq: int) -> int:
        """Bytes held of the events that follow ``seq``."""
        if seq < self.first:
            return self.size
        return self.total - self.get(seq).end if seq < self.last else 0

    def clear(self) -> None:
        """Drop everything."""
        while self._events:
            self._drop()

    def _drop(self) -> None:
        event = self._events.popleft()
        self.first = event.seq + 1
        self.dropped = event.end
        self._budget.used -= event.size
