"""What the agent does with each message, whatever carries it: admits peers, finds requests, keeps to their credit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, cast

from agent_stub.dispatch import Dispatcher, error_frames
from agent_stub.exchange.call import CancelMode
from agent_stub.exchange.request import Request
from agent_stub.exchange.table import Table
from agent_stub.peers import Patience, Peers, Sender
from agent_stub.plugin import Handler
from agent_stub.stats import Stats
from agent_stub.wire.auth import Auth
from agent_stub.wire.codec import Codec, FrameError, Message
from agent_stub.wire.errors import WireError
from agent_stub.wire.header import Header
from agent_stub.wire.limits import Limits
from agent_stub.wire.operations.core import Cancel, Gap, Operation
from agent_stub.wire.schema import dump, parse

Sent = Literal["sent", "full", "gone"]
Send = Callable[[bytes, list[bytes]], Sent]
CANCEL_MODES = ("int", "term", "kill", "detach")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this agent is: random for each start, and the secret that it shares with its clients."""

    boot_id: str
    token: bytes | None
    random: Callable[[int], bytes]
    limits: Limits = field(default_factory=Limits)


class Server:
    """Answers messages; ``send`` hands frames to the transport and never blocks."""

    def __init__(self, identity: Identity, operations: Mapping[str, tuple[Operation, Handler]], send: Send) -> None:
        self.stats = Stats()
        self.closing = False
        self._send = send
        self._codec = Codec(identity.limits)
        self._peers = Peers(identity.token, identity.boot_id, identity.limits.peers, identity.random)
        self._patience = Patience(monotonic)
        self._table = Table(identity.limits, monotonic, self._gap_frames)
        self._blocked: dict[bytes, dict[bytes, Request]] = {}
        self.dispatcher = Dispatcher(self._codec, operations, self.flush)
        self.dispatcher.finished = self._finished
        self._pruning = False

    @property
    def blocked(self) -> bool:
        """Whether messages wait for a slow peer."""
        return bool(self._blocked)

    def receive(self, sender: Sender, frames: Sequence[bytes]) -> None:
        """Take one message; never raises for what a peer sent."""
        if not sender.assigned:
            self.stats.dropped += 1
            return
        try:
            message = self._codec.decode(frames)
        except FrameError as error:
            if error.id is None:
                self.stats.dropped += 1
            elif self._known(sender):
                self._refuse(sender, error.id, error)
            return
        header = message.header
        try:
            if header.kind == "auth":
                self._authenticate(sender, message)
            elif self._peers.admitted(sender):
                self._handle(sender, message)
            elif self._known(sender):
                raise WireError("unauthenticated", "this connection has not proved that it knows the token")
        except WireError as error:
            self._refuse(sender, header.id, error)

    def flush(self, request: Request) -> None:
        """Send what the request has to send and its client has credit and room for."""
        peer = request.peer
        if peer is None:
            return
        if peer in self._blocked:
            self._blocked[peer][request.id] = request
            return
        moved = False
        while (frames := request.next()) is not None:
            outcome = self._send(peer, frames)
            if outcome == "sent":
                request.advance()
                moved = True
                continue
            if outcome == "full":
                self._blocked[peer] = {request.id: request}
            else:
                self._lost(peer)
            break
        if moved:
            self.dispatcher.sent(request)

    def writable(self) -> None:
        """Try again what waited for slow peers."""
        blocked, self._blocked = self._blocked, {}
        for requests in blocked.values():
            for request in requests.values():
                self.flush(request)

    def disconnected(self, connection: int) -> None:
        """A connection ended: its requests go on, and wait for their client."""
        for peer in self._peers.gone(connection):
            self._lost(peer)

    def _finished(self, request: Request) -> None:
        self._table.finished(request)
        self._prune_later()

    def _prune_later(self) -> None:
        if not self._pruning:
            self._pruning = True
            asyncio.get_running_loop().call_later(self._codec.limits.kept_seconds, self._prune)

    def _prune(self) -> None:
        self._pruning = False
        if self._table.prune():
            self._prune_later()

    def _known(self, sender: Sender) -> bool:
        """Whether to answer the sender; strangers are counted and answered only so often."""
        if self._peers.admitted(sender):
            return True
        self.stats.unauthenticated += 1
        if self._patience.answer():
            return True
        self.stats.silenced += 1
        return False

    def _authenticate(self, sender: Sender, message: Message) -> None:
        auth = parse(Auth, message.body)
        request = message.header.id
        if auth.nonce:
            challenge = self._peers.challenge(sender, auth.nonce)
            self._answer(sender, self._codec.encode(Header(request, "challenge"), dump(challenge)))
            return
        try:
            self._peers.admit(sender, auth)
        except WireError as error:
            if self._known(sender):
                self._refuse(sender, request, error)
            return
        self._answer(sender, self._codec.encode(Header(request, "reply", final=True), {}))

    def _handle(self, sender: Sender, message: Message) -> None:
        header = message.header
        if header.kind == "request":
            self._request(sender, message)
        elif header.kind == "heartbeat":
            if not header.final:  # an answer to one of ours ends there
                self._answer(sender, self._codec.encode(Header(header.id, "heartbeat", final=True), {}))
        elif header.kind not in ("credit", "cancel"):
            raise WireError("malformed", f"a client sends no {header.kind}")
        else:
            request = self._table.get(header.id)
            if request is None:
                raise WireError("gone", "no request has this id")
            if header.kind == "cancel":
                self._cancel(request, message)
            elif request.peer == sender.identity:
                request.credit.grant(header.credit or 0)
                self.flush(request)

    def _request(self, sender: Sender, message: Message) -> None:
        header = message.header
        if self.closing and self._table.get(header.id) is None:
            raise WireError("shutting_down", "the agent ends")
        request, new = self._table.find_or_make(header.id, header.op, header.seq)
        request.attach(sender.identity, header.seq, header.credit)
        if new:
            self.stats.requests += 1
            self.dispatcher.start(request, message.body, message.raw)
        else:
            self.stats.resumed += 1
            self.flush(request)

    def _cancel(self, request: Request, message: Message) -> None:
        mode = parse(Cancel, message.body).mode
        if mode not in CANCEL_MODES:
            raise WireError("invalid", f"cancel mode is one of {', '.join(CANCEL_MODES)}")
        if mode == "detach":
            request.detach()
        else:
            self.dispatcher.cancel(request, cast(CancelMode, mode))

    def _lost(self, peer: bytes) -> None:
        for request in self._blocked.pop(peer, {}).values():
            request.detach()
        for request in self._table:
            if request.peer == peer:
                request.detach()

    def _refuse(self, sender: Sender, request: bytes, error: WireError) -> None:
        self.stats.refused += 1
        self._answer(sender, error_frames(self._codec, request, error))

    def _answer(self, sender: Sender, frames: list[bytes]) -> None:
        if self._send(sender.identity, frames) != "sent":
            self.stats.unsent += 1

    def _gap_frames(self, request: bytes, first: int, last: int) -> list[bytes]:
        return self._codec.encode(Header(request, "event", "gap", last), dump(Gap(first, last)))
