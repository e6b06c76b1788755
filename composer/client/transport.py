"""The DEALER socket on the event loop: one connection, which never comes back by itself.

A lost connection is told at once by the socket's monitor (zmq_socket_monitor(3)), with no polling. A new
connection is a new `Transport`, so that nothing meant for the old one is sent to a peer that has not been greeted.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from typing import Protocol

import zmq

# Plain numbers: operators of enums take longer than a system call.
NOWAIT, MORE, READABLE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE), int(zmq.POLLIN)
QUEUE = 256  # messages inside libzmq, each way
LINGER = 200  # milliseconds for the last messages of an orderly end
BATCH = 64
PING = (5_000, 15_000)  # milliseconds: ZMTP ping over TCP, and the silence after which the agent is gone
EVENTS = (
    zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_CLOSED
)


Context = zmq.Context[zmq.Socket[bytes]]
"""libzmq's threads and queues, one for each agent; ``term`` waits for what is still to be sent."""


class Listener(Protocol):
    """What a transport reports to."""

    def connected(self) -> None:
        """The connection stands and messages can be sent."""
        ...

    def received(self, frames: list[bytes]) -> None:
        """A message came."""
        ...

    def disconnected(self) -> None:
        """The connection ended, or could not be made; nothing follows."""
        ...


class Transport:
    """One connection to ``endpoint``."""

    def __init__(self, context: Context, endpoint: str, listener: Listener) -> None:
        self._listener = listener
        self._pending: deque[list[bytes]] = deque()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._scheduled = False
        self._socket = context.socket(zmq.DEALER)
        for option, value in ((zmq.SNDHWM, QUEUE), (zmq.RCVHWM, QUEUE), (zmq.RECONNECT_IVL, -1), (zmq.IMMEDIATE, 1)):
            self._socket.setsockopt(option, value)
        if endpoint.startswith("tcp:"):
            self._socket.setsockopt(zmq.HEARTBEAT_IVL, PING[0])
            self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, PING[1])
        self._monitor = self._socket.get_monitor_socket(EVENTS)
        self._loop.add_reader(self._monitor.fileno(), self._monitored)
        self._loop.add_reader(self._socket.fileno(), self._ready)
        # The descriptor is silent until the socket was once found empty.
        self._loop.call_soon(self._monitored)
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close(0)
            raise OSError(error.errno, error.strerror, endpoint) from None

    def send(self, frames: list[bytes]) -> None:
        """Send a message; it waits here while libzmq's queue is full."""
        if self._closed:
            return
        if self._pending or not self._try_send(frames):
            self._pending.append(frames)
        if not self._scheduled and int(self._socket.getsockopt(zmq.EVENTS)) & READABLE:
            self._schedule()

    def close(self, linger: int = LINGER) -> None:
        """End the connection, giving what was sent at most ``linger`` milliseconds to leave."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_reader(self._monitor.fileno())
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close(linger)

    def _try_send(self, frames: list[bytes]) -> bool:
        send = self._socket.send
        try:
            for frame in frames[:-1]:
                send(frame, MORE)
            send(frames[-1], NOWAIT)
        except zmq.Again:  # only ever at the first frame: a message is queued whole
            return False
        return True

    def _schedule(self) -> None:
        self._scheduled = True
        self._loop.call_soon(self._ready)

    def _ready(self) -> None:
        self._scheduled = True
        for _ in range(BATCH):
            if not self._receive():
                break
        self._scheduled = False
        if self._closed:
            return
        while self._pending and self._try_send(self._pending[0]):
            self._pending.popleft()
        if int(self._socket.getsockopt(zmq.EVENTS)) & READABLE:
            self._schedule()

    def _receive(self) -> bool:
        socket = self._socket
        if self._closed:
            return False
        try:
            frames = [socket.recv(NOWAIT)]
        except zmq.Again:
            return False
        while socket.getsockopt(zmq.RCVMORE):
            frames.append(socket.recv(NOWAIT))
        self._listener.received(frames)
        return True

    def _monitored(self) -> None:
        while not self._closed:
            try:
                event, _endpoint = self._monitor.recv_multipart(NOWAIT)
            except zmq.Again:
                return
            kind, _value = struct.unpack("=hi", event)
            if kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._listener.connected()
            else:
                self._ended()

    def _ended(self) -> None:
        while self._receive():  # what came before the end
            pass
        if not self._closed:
            self.close(0)
            self._listener.disconnected()
