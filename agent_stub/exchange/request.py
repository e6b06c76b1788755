"""One request's life, without I/O: its states, what is still to be sent of it, and to whom.

========== ========= ===========
state      event     next state
========== ========= ===========
running    cancel    cancelling
running    finish    done
cancelling cancel    cancelling
cancelling finish    done
done       cancel    done
========== ========= ===========
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from agent_stub.exchange.credit import Credit
from agent_stub.exchange.ring import Ring

State = Literal["running", "cancelling", "done"]
Happening = Literal["cancel", "finish"]

TRANSITIONS: dict[tuple[State, Happening], State] = {
    ("running", "cancel"): "cancelling",
    ("running", "finish"): "done",
    ("cancelling", "cancel"): "cancelling",
    ("cancelling", "finish"): "done",
    ("done", "cancel"): "done",
}

GapFrames = Callable[[bytes, int, int], list[bytes]]


class Request:
    """A request that a client made: what it was answered, and how much of that the client has."""

    __slots__ = ("_gap_frames", "credit", "final", "final_sent", "id", "op", "peer", "ring", "sent", "state")

    def __init__(self, id: bytes, op: str, ring: Ring, gap_frames: GapFrames) -> None:  # noqa: A002
        self.id = id
        self.op = op
        self.ring = ring
        self.peer: bytes | None = None
        self.credit = Credit(None)
        self.state: State = "running"
        self.sent = 0
        self.final: list[bytes] | None = None
        self.final_sent = False
        self._gap_frames = gap_frames

    def attach(self, peer: bytes, after: int, credit: int | None) -> None:
        """Send to ``peer`` from the event after ``after``, within ``credit``."""
        self.peer = peer
        self.sent = min(after, self.ring.last)
        self.credit = Credit(credit)
        self.final_sent = False

    def detach(self) -> None:
        """Send to nobody; events and the final message wait for the client to come back."""
        self.peer = None

    def move(self, happening: Happening) -> None:
        """Change the state; a pair that is not in the table is a fault of the caller (``KeyError``)."""
        self.state = TRANSITIONS[self.state, happening]

    def finish(self, final: list[bytes]) -> None:
        """Take the one final message."""
        self.move("finish")
        self.final = final

    @property
    def waiting(self) -> int:
        """Bytes of events that the client has not been sent."""
        return self.ring.after(self.sent)

    @property
    def size(self) -> int:
        """Bytes that the request holds."""
        return self.ring.size + (sum(map(len, self.final)) if self.final else 0)

    def next(self) -> list[bytes] | None:
        """The frames to send now, or None: nothing is left, there is no credit, or nobody listens."""
        if self.peer is None:
            return None
        ring = self.ring
        if self.sent + 1 < ring.first:
            return self._gap_frames(self.id, self.sent + 1, ring.first - 1)
        if self.sent < ring.last:
            return ring.get(self.sent + 1).frames if self.credit.open else None
        return self.final if not self.final_sent else None

    def advance(self) -> None:
        """The frames that `next` gave were sent."""
        ring = self.ring
        if self.sent + 1 < ring.first:
            self.sent = ring.first - 1
        elif self.sent < ring.last:
            self.sent += 1
            self.credit.take(ring.get(self.sent).size)
        else:
            self.final_sent = True
