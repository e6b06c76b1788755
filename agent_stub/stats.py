"""Counters of what went wrong on the wire, for the agent's log and its tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Stats:
    """Counts since the start."""

    dropped: int = 0
    """Messages without a readable id."""
    refused: int = 0
    """Messages answered with an error before they reached a handler."""
    unauthenticated: int = 0
    """Wrong proofs, and messages of peers that had proved nothing."""
    silenced: int = 0
    """Answers to such peers that were not sent, since there were too many."""
    unsent: int = 0
    """Small answers that did not fit a slow peer's queue."""
    requests: int = 0
    """Requests that ran."""
    resumed: int = 0
    """Requests that a client came back for."""
