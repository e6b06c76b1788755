"""The ROUTER socket on the event loop; the only module of the agent that uses zmq.

The socket's descriptor (ZMQ_FD) is edge-triggered and says only that *something* happened: after it fires, and after
each send, ZMQ_EVENTS is what counts (zmq_getsockopt(3)). It is quicker than zmq.asyncio, which makes a future for each
message.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import Protocol

import zmq

from agent_stub.peers import Sender
from agent_stub.server import Sent
from agent_stub.wire.limits import Limits

# Plain numbers: operators of enums take longer than a system call.
NOWAIT, MORE, READABLE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE), int(zmq.POLLIN)
BATCH = 64
QUEUE = 128  # messages per peer inside libzmq; what is beyond stays in the requests' rings
LINGER = 100  # milliseconds for the last replies
HEARTBEAT = (5_000, 20_000)  # milliseconds: ZMTP ping and the silence after which a peer is gone


class Receiver(Protocol):
    """What the router hands messages to."""

    @property
    def blocked(self) -> bool:
        """Whether messages wait for a slow peer."""
        ...

    def receive(self, sender: Sender, frames: Sequence[bytes]) -> None:
        """Take one message."""
        ...

    def writable(self) -> None:
        """Try again to send what waited."""
        ...

    def disconnected(self, connection: int) -> None:
        """A connection ended."""
        ...


class Router:
    """Binds endpoints, sends without blocking, and calls ``receiver`` for each message once `start` was called."""

    def __init__(self, limits: Limits) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        for option, value in (
            (zmq.ROUTER_MANDATORY, 1),
            (zmq.MAXMSGSIZE, limits.transport),
            (zmq.SNDHWM, QUEUE),
            (zmq.RCVHWM, QUEUE),
            (zmq.LINGER, LINGER),
            (zmq.HEARTBEAT_IVL, HEARTBEAT[0]),
            (zmq.HEARTBEAT_TIMEOUT, HEARTBEAT[1]),
        ):
            self._socket.setsockopt(option, value)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._receiver: Receiver | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scheduled = False

    def bind(self, endpoint: str) -> str:
        """Listen; the endpoint with its real port. Raises ``OSError`` (address in use, no such directory)."""
        try:
            self._socket.bind(endpoint)
        except zmq.ZMQError as error:
            raise OSError(error.errno, error.strerror, endpoint) from None
        return self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def start(self, receiver: Receiver) -> None:
        """Deliver messages from now on, on the running loop."""
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket.fileno(), self._ready)
        self._loop.add_reader(self._monitor.fileno(), self._monitored)
        # A descriptor is silent until its socket was once found empty.
        self._loop.call_soon(self._monitored)
        self._schedule()

    def send(self, peer: bytes, frames: list[bytes]) -> Sent:
        """Queue a message for a peer: ``full`` when its queue is, ``gone`` when there is no such peer."""
        send = self._socket.send
        try:
            send(peer, MORE)
        except zmq.Again:
            return "full"
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                return "gone"
            raise
        for frame in frames[:-1]:
            send(frame, MORE)
        send(frames[-1], NOWAIT)
        self._recheck()
        return "sent"

    def close(self) -> None:
        """Stop, giving the last replies a moment to leave."""
        if self._loop:
            self._loop.remove_reader(self._socket.fileno())
            self._loop.remove_reader(self._monitor.fileno())
            self._loop = None
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close()
        self._context.term()

    def _recheck(self) -> None:
        # A send may have taken the notice of a message that arrived, or of room for a slow peer, off the descriptor.
        if self._scheduled or not self._receiver:
            return
        if self._receiver.blocked or int(self._socket.getsockopt(zmq.EVENTS)) & READABLE:
            self._schedule()

    def _schedule(self) -> None:
        if self._loop and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._ready)

    def _ready(self) -> None:
        receiver, socket = self._receiver, self._socket
        if self._loop is None or receiver is None:
            return
        self._scheduled = True  # sends from here need no check of their own
        full = True
        for _ in range(BATCH):
            try:
                identity = socket.recv(NOWAIT)
            except zmq.Again:
                full = False
                break
            first = socket.recv(NOWAIT, copy=False)
            frames = [first.bytes]
            more = first.more
            while more:
                frames.append(socket.recv(NOWAIT))
                more = bool(socket.getsockopt(zmq.RCVMORE))
            receiver.receive(Sender(identity, int(first.get(zmq.SRCFD))), frames)
        if receiver.blocked:
            receiver.writable()
        self._scheduled = False
        if full or int(socket.getsockopt(zmq.EVENTS)) & READABLE:
            self._schedule()

    def _monitored(self) -> None:
        while True:
            try:
                event, _endpoint = self._monitor.recv_multipart(NOWAIT)
            except zmq.Again:
                return
            _kind, connection = struct.unpack("=hi", event)
            if self._receiver:
                self._receiver.disconnected(connection)
