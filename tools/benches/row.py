"""What a row of the table is, and how samples become figures."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line: our figure in ``unit``, the floor of the same run, a peer's figure, the goal.

    For rates (``MB/s``) more is better; for everything else less is.
    """

    name: str
    ours: float
    unit: str
    floor: float | None = None
    floor_is: str = ""
    peer: float | None = None
    peer_is: str = ""
    goal: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        if self.goal is None:
            return None
        return self.ours >= self.goal if self.unit == "MB/s" else self.ours <= self.goal


def p50(samples: Sequence[float]) -> float:
    """The median."""
    return statistics.median(samples)


def p99(samples: Sequence[float]) -> float:
    """The 99th percentile (nearest rank)."""
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * 0.99))]


def timed(action: Callable[[], object], count: int, warm: int = 20) -> list[float]:
    """Milliseconds of each of ``count`` calls, after ``warm`` that are not counted."""
    for _ in range(warm):
        action()
    samples = []
    for _ in range(count):
        began = time.perf_counter()
        action()
        samples.append((time.perf_counter() - began) * 1000)
    return samples


async def timed_async(action: Callable[[], Awaitable[object]], count: int, warm: int = 20) -> list[float]:
    """As `timed`, for something to await."""
    for _ in range(warm):
        await action()
    samples = []
    for _ in range(count):
        began = time.perf_counter()
        await action()
        samples.append((time.perf_counter() - began) * 1000)
    return samples
