"""Limits on what a peer may send; `hello` announces them."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, counts, seconds.

    A frame above ``transport`` ends the connection inside libzmq (ZMQ_MAXMSGSIZE); between ``frame`` and ``transport``
    the request's id can still be read, so that it gets an error.
    """

    header: int = 1024
    frame: int = 16 * MEBIBYTE
    frames: int = 64
    message: int = 64 * MEBIBYTE
    transport: int = 128 * MEBIBYTE
    depth: int = 16
    items: int = 100_000
    requests: int = 1024
    ring: int = 16 * MEBIBYTE
    rings: int = 64 * MEBIBYTE
    kept_replies: int = 1024
    kept_bytes: int = 64 * MEBIBYTE
    kept_seconds: float = 600.0
    peers: int = 1024

    def announced(self) -> dict[str, int]:
        """What a client needs to know, for `hello`."""
        return {
            "frame": self.frame,
            "frames": self.frames,
            "message": self.message,
            "requests": self.requests,
            "ring": self.ring,
        }
