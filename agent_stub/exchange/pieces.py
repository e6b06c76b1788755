"""Pieces of a stream that follow each other, joined into one event: a terminal gives out 4 KiB at a time."""

from __future__ import annotations

from typing import Any

MOST = 1 << 16


def is_piece(body: Any, raw: tuple[bytes, ...]) -> bool:
    """Whether an event is a piece: one raw frame, and a body that says where in its stream it starts."""
    return len(raw) == 1 and hasattr(body, "offset")


class Piece:
    """A piece, and those that came right behind it."""

    __slots__ = ("_end", "_parts", "_size", "body", "name")

    def __init__(self, name: str, body: Any, data: bytes) -> None:
        self.name = name
        self.body = body
        self._parts = [data]
        self._size = len(data)
        self._end = body.offset + len(data)

    @property
    def data(self) -> bytes:
        """The bytes of all."""
        return b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]

    def join(self, name: str, body: Any, raw: tuple[bytes, ...]) -> bool:
        """Take an event that continues this one in the same stream, when there is room; whether it did."""
        if name != self.name or type(body) is not type(self.body) or len(raw) != 1:
            return False
        size = len(raw[0])
        if body.offset != self._end or self._size + size > MOST:
            return False
        if getattr(body, "stream", None) != getattr(self.body, "stream", None):
            return False
        self._parts.append(raw[0])
        self._size += size
        self._end += size
        return True
