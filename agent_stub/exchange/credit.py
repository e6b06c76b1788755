"""Byte credit of a request: how much of its events the client is ready to take."""

from __future__ import annotations


class Credit:
    """Bytes that may still be sent; None is no bound.

    One event may overdraw it, so that an event larger than what is left is not stuck for ever.
    """

    __slots__ = ("left",)

    def __init__(self, left: int | None) -> None:
        self.left = left

    @property
    def open(self) -> bool:
        """Whether the next event may be sent."""
        return self.left is None or self.left > 0

    def take(self, size: int) -> None:
        """Account for an event that was sent."""
        if self.left is not None:
            self.left -= size

    def grant(self, size: int) -> None:
        """Add what the client granted."""
        if self.left is not None:
            self.left = min(self.left + size, 1 << 62)
