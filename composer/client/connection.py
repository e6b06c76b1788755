"""The client's side of the protocol without I/O: greeting, ids, what is open, credit, and how to resume.

`Connection` outlives the transports that carry it: after a lost connection it greets the agent again and sends every
open request once more under its old id, with the number of the last event that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_stub.wire.auth import NONCE_BYTES, Auth, Challenge, holds, prove
from agent_stub.wire.codec import Codec, FrameError, Message, wide
from agent_stub.wire.errors import CODES, WireError
from agent_stub.wire.header import ID_BYTES, Header
from agent_stub.wire.limits import Limits
from agent_stub.wire.operations.core import Cancel
from agent_stub.wire.schema import dump, parse

WINDOW = 16 << 20  # bytes of events that the agent may send ahead of the consumer
LIMITS = Limits()
CancelMode = Literal["int", "term", "kill", "detach"]
State = Literal["down", "greeting", "proving", "open"]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a request; a ``gap`` says that the agent keeps earlier ones no longer."""

    name: str
    body: dict[str, Any]
    raw: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of its raw frames."""
        return sum(map(len, self.raw))


@dataclass(frozen=True, slots=True)
class Reply:
    """The final reply of a request."""

    body: dict[str, Any]
    raw: tuple[bytes, ...] = ()


@dataclass(slots=True)
class Open:
    """A request without its final message; ``on_event`` and ``on_final`` are called from `Connection.receive`."""

    op: str
    body: dict[str, Any]
    raw: Sequence[bytes]
    on_event: Callable[[Event], None]
    on_final: Callable[[Reply | WireError], None]
    credit: int | None = None
    last: int = 0
    taken: int = 0


@dataclass(slots=True)
class Greeting:
    """The exchange that opens a connection."""

    id: bytes
    nonce: bytes = field(repr=False)


class Connection:
    """What to send (``send``) for what is asked and received; ``opened`` and ``refused`` tell of greetings."""

    def __init__(
        self, token: bytes | None, random: Callable[[int], bytes], send: Callable[[list[bytes]], None]
    ) -> None:
        self.state: State = "down"
        self.boot_id = ""
        self.on_opened: Callable[[], None] = lambda: None
        self.on_refused: Callable[[WireError], None] = lambda _error: None
        self._token = token
        self._random = random
        self._send = send
        self._codec = Codec(wide(LIMITS))
        self._requests: dict[bytes, Open] = {}
        self._greeting = Greeting(b"", b"")
        self._pings: dict[bytes, Callable[[], None]] = {}

    def connected(self) -> None:
        """A transport stands: greet the agent."""
        self._greeting = Greeting(self._random(ID_BYTES), self._random(NONCE_BYTES))
        self.state = "greeting"
        self._send_auth(Auth(nonce=self._greeting.nonce))

    def disconnected(self) -> None:
        """The transport is gone; open requests wait for the next one."""
        self.state = "down"

    def fail(self, error: WireError) -> None:
        """End every open request with ``error``."""
        requests, self._requests = self._requests, {}
        for request in requests.values():
            request.on_final(error)

    def request(self, request: Open) -> bytes:
        """Open a request, sent now or when the connection stands; its id.

        Raises `WireError` ``limit`` for one that is too large, ``TypeError``, ``ValueError`` or ``OverflowError`` for
        what msgpack cannot carry.
        """
        name = self._random(ID_BYTES)
        frames = self._request_frames(name, request)
        self._requests[name] = request
        if self.state == "open":
            self._send(frames)
        return name

    def cancel(self, name: bytes, mode: CancelMode) -> None:
        """Ask for the end of a request; its final message still comes."""
        if name in self._requests and self.state == "open":
            self._send(self._codec.encode(Header(name, "cancel"), dump(Cancel(mode))))

    def consumed(self, name: bytes, size: int) -> None:
        """The consumer took ``size`` bytes of events; grants credit when half of the window is free."""
        request = self._requests.get(name)
        if request is None or request.credit is None:
            return
        request.taken += size
        if request.taken * 2 >= request.credit and self.state == "open":
            self._send(self._codec.encode(Header(name, "credit", credit=request.taken), {}))
            request.taken = 0

    def ping(self, on_answer: Callable[[], None]) -> None:
        """Ask for a sign of life; ``on_answer`` is called when it comes."""
        name = self._random(ID_BYTES)
        self._pings = {name: on_answer}
        self._send(self._codec.encode(Header(name, "heartbeat"), {}))

    def receive(self, frames: Sequence[bytes]) -> None:
        """Take one message of the agent; raises `WireError` ``malformed`` for what is none."""
        message = self._codec.decode(frames)
        header = message.header
        request = self._requests.get(header.id)
        if request is not None:
            self._of_request(header, request, message)
        elif header.id == self._greeting.id:
            self._greeted(message)
        elif header.kind == "heartbeat":
            if not header.final:
                self._send(self._codec.encode(Header(header.id, "heartbeat", final=True), {}))
            elif header.id in self._pings:
                self._pings.pop(header.id)()

    def _of_request(self, header: Header, request: Open, message: Message) -> None:
        if header.kind == "event":
            if header.seq > request.last:
                request.last = header.seq
                request.on_event(Event(header.op, message.body, message.raw))
        elif header.kind == "reply":
            del self._requests[header.id]
            request.on_final(Reply(message.body, message.raw))
        elif header.kind == "error":
            del self._requests[header.id]
            request.on_final(error_of(message.body))

    def _greeted(self, message: Message) -> None:
        kind = message.header.kind
        if kind == "challenge" and self.state == "greeting":
            self._challenged(parse(Challenge, message.body))
        elif kind == "reply" and self.state == "proving":
            self.state = "open"
            for name, request in list(self._requests.items()):
                self._send(self._request_frames(name, request))
            self.on_opened()
        elif kind == "error":
            self.on_refused(error_of(message.body))

    def _challenged(self, challenge: Challenge) -> None:
        nonces = (self._greeting.nonce, challenge.nonce)
        proof = b""
        if self._token is not None:
            if not holds(challenge.proof, prove(self._token, "agent", nonces, challenge.boot_id)):
                self.on_refused(WireError("unauthenticated", "the agent does not know the token: it is another one"))
                return
            proof = prove(self._token, "client", nonces, challenge.boot_id)
        elif challenge.required:
            self.on_refused(WireError("unauthenticated", "the agent asks for a token and none was given"))
            return
        if self.boot_id and challenge.boot_id != self.boot_id:
            # Nothing that ran there is known here; to send it again could run it twice.
            self.fail(WireError("gone", "the agent was started again meanwhile"))
        self.boot_id = challenge.boot_id
        self.state = "proving"
        self._send_auth(Auth(proof=proof))

    def _send_auth(self, auth: Auth) -> None:
        self._send(self._codec.encode(Header(self._greeting.id, "auth"), dump(auth)))

    def _request_frames(self, name: bytes, request: Open) -> list[bytes]:
        header = Header(name, "request", request.op, request.last, credit=request.credit)
        request.taken = 0
        frames = self._codec.encode(header, request.body, request.raw)
        if max(map(len, frames)) > LIMITS.frame or sum(map(len, frames)) > LIMITS.message:
            raise WireError("limit", f"a frame is over {LIMITS.frame} bytes, or all of them over {LIMITS.message}")
        return frames


def error_of(body: dict[str, Any]) -> WireError:
    """The error in an error message; a code that is not known here counts as ``internal``."""
    code, message, number = body.get("code"), str(body.get("message", "")), body.get("errno")
    known = code if isinstance(code, str) and code in CODES else "internal"
    return WireError(known, message, number if isinstance(number, int) else None)


__all__ = ["WINDOW", "Connection", "Event", "FrameError", "Open", "Reply", "error_of"]
