"""The part of an output that a reply carries: its head and its tail, and how much lies between."""

from __future__ import annotations


class Window:
    """Keeps the first and the last ``limit // 2`` bytes of a stream, in memory bounded by ``limit``."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Take more of the stream."""
        self.size += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            # Cut seldom: each cut moves what is kept.
            if len(self._tail) > 2 * self._keep + 65536:
                del self._tail[: len(self._tail) - self._keep]

    @property
    def _keep(self) -> int:
        return self._limit - self._half

    @property
    def omitted(self) -> int:
        """Bytes between the head and the tail."""
        return max(0, self.size - self._limit)

    @property
    def head(self) -> int:
        """Bytes of `content` that are the head."""
        return len(self._head)

    def content(self) -> bytes:
        """The head and the tail, joined."""
        tail = self._tail[len(self._tail) - self._keep :] if len(self._tail) > self._keep else self._tail
        return bytes(self._head + tail)
