"""How long steps tell that they go on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Told now and then: (what, how much is done, how much there is), in bytes or items; 0 in all is not known."""


def silent(_what: str, _done: int, _total: int) -> None:
    """Take progress and tell nobody."""
