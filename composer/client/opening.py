"""Something that is opened by ``await`` or by ``async with``, whichever the caller prefers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar


class Closable(Protocol):
    """What can be left."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        ...


T = TypeVar("T", bound=Closable)


class Opening(Generic[T]):
    """``box = await Sandbox.start(...)`` and ``async with Sandbox.start(...) as box`` alike."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._make = make
        self._made: T | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        return self._make().__await__()

    async def __aenter__(self) -> T:
        self._made = await self._make()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.__aexit__(kind, error, trace)
