"""The table of requests by id: those that run, those whose answer is kept, and ids that are known to be over."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from agent_stub.exchange.request import GapFrames, Request
from agent_stub.exchange.ring import Budget, Ring
from agent_stub.wire.errors import WireError
from agent_stub.wire.limits import Limits

# An id that was forgotten must not run again: 16-byte names are kept far longer than answers.
REMEMBERED_IDS = 1 << 16


class Table:
    """Finds and makes requests; bounded in open requests, and in number, bytes and age of kept answers."""

    def __init__(self, limits: Limits, clock: Callable[[], float], gap_frames: GapFrames) -> None:
        self._limits = limits
        self._clock = clock
        self._gap_frames = gap_frames
        self._budget = Budget(limits.rings)
        self._open: dict[bytes, Request] = {}
        self._done: OrderedDict[bytes, tuple[Request, float, int]] = OrderedDict()
        self._over: OrderedDict[bytes, None] = OrderedDict()
        self._kept_bytes = 0

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Request]:
        """The open requests."""
        return iter(list(self._open.values()))

    def get(self, request: bytes) -> Request | None:
        """The open or finished request with that id."""
        found = self._open.get(request)
        if found is None and request in self._done:
            found = self._done[request][0]
        return found

    def find_or_make(self, request: bytes, op: str, after: int) -> tuple[Request, bool]:
        """The request and whether it is new.

        ``after`` is the last event that the client has. Raises `WireError`: ``gone`` for an id whose answer is kept no
        longer, ``invalid`` for an id that another operation has, ``limit`` when too many are open.
        """
        found = self.get(request)
        if found is not None:
            if found.op != op:
                raise WireError("invalid", f"this id belongs to a request of {found.op!r}")
            return found, False
        if after or request in self._over:
            raise WireError("gone", "the answer to this request is kept no longer, or was another agent's")
        if len(self._open) >= self._limits.requests:
            raise WireError("limit", f"{self._limits.requests} requests are open")
        made = Request(request, op, Ring(self._limits.ring, self._budget), self._gap_frames)
        self._open[request] = made
        return made, True

    def finished(self, request: Request) -> None:
        """Keep a finished request's answer for a while; drop what is too much or too old."""
        del self._open[request.id]
        size = request.size
        self._done[request.id] = (request, self._clock(), size)
        self._kept_bytes += size
        self.prune()

    def prune(self) -> bool:
        """Forget answers that are too many, too large or too old; whether some are kept still."""
        limits, oldest = self._limits, self._clock() - self._limits.kept_seconds
        while self._done:
            _, since, _ = next(iter(self._done.values()))
            crowded = len(self._done) > limits.kept_replies or self._kept_bytes > limits.kept_bytes
            # The newest stays, whatever its size: its client has yet to get it.
            if since > oldest and not (crowded and len(self._done) > 1):
                return True
            self._forget()
        return False

    def _forget(self) -> None:
        name, (request, _, size) = self._done.popitem(last=False)
        self._kept_bytes -= size
        request.ring.clear()
        self._over[name] = None
        if len(self._over) > REMEMBERED_IDS:
            self._over.popitem(last=False)
