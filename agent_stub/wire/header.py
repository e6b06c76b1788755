"""The header: the first frame of every message, a msgpack map.

A message is ``[header, body, *raw]``: the body is a msgpack map, bulk bytes travel in the raw frames behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from agent_stub.wire.errors import WireError

VERSION = 1
ID_BYTES = 16

Kind = Literal["request", "cancel", "credit", "event", "reply", "error", "heartbeat", "auth", "challenge"]
_KINDS = frozenset(get_args(Kind))


@dataclass(frozen=True, slots=True)
class Header:
    """One message's header.

    ``id`` is the request's, 16 bytes made by the client; ``kind`` is ``t`` on the wire; ``op`` names the operation of a
    request and the event of an event; ``seq`` counts the events of a request from 1 (in a request: the last one
    that the client has, so that a retry resumes after it; in a credit: unused); ``final`` marks the one reply or error;
    ``credit`` grants bytes of events beyond those granted before (None in a request: no bound).
    """

    id: bytes
    kind: Kind
    op: str = ""
    seq: int = 0
    final: bool = False
    credit: int | None = None
    version: int = VERSION

    def as_map(self) -> dict[str, Any]:
        """The map on the wire; fields that have their default are left out."""
        result: dict[str, Any] = {"v": self.version, "id": self.id, "t": self.kind}
        if self.op:
            result["op"] = self.op
        if self.seq:
            result["seq"] = self.seq
        if self.final:
            result["fin"] = True
        if self.credit is not None:
            result["cr"] = self.credit
        return result

    @classmethod
    def from_map(cls, value: Any) -> Header:
        """Check a decoded header; raises `WireError` ``malformed`` or ``version``."""
        if not isinstance(value, dict):
            raise WireError("malformed", "the header is not a map")
        if value.get("v") != VERSION:
            raise WireError("version", f"this agent speaks version {VERSION}")
        request, kind, op, seq, final, credit = (value.get(key) for key in ("id", "t", "op", "seq", "fin", "cr"))
        if not isinstance(request, bytes) or len(request) != ID_BYTES:
            raise WireError("malformed", f"the id is not {ID_BYTES} bytes")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise WireError("malformed", "unknown message type")
        if not (isinstance(op, str | None) and isinstance(final, bool | None) and _natural(seq) and _natural(credit)):
            raise WireError("malformed", "a header field has the wrong type")
        return cls(request, kind, op or "", seq or 0, bool(final), credit)  # type: ignore[arg-type]


def _natural(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63)
