"""A connection to an agent on the event loop: calls, streams, and coming back after a lost connection."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any, Self

from agent_stub.wire.errors import WireError
from agent_stub.wire.operations.core import Hello, HelloReply
from agent_stub.wire.schema import dump, parse
from composer.client.connection import WINDOW, CancelMode, Connection, Event, Open, Reply
from composer.client.failure import from_wire, lost
from composer.client.opening import Opening
from composer.client.request import Request
from composer.client.transport import Context, Transport
from composer.errors import ComposerError, UsageError

RETRY = (0.02, 0.5)  # seconds between attempts to come back: the first, the longest


class Agent:
    """A greeted agent. Make one with `connect`; close it, or use it in ``async with``.

    When the connection breaks, a new one is tried at once, and for ``patience`` seconds after that; open requests then
    resume where they were. Otherwise they raise `AgentLostError`.
    """

    def __init__(self, endpoint: str, token: bytes | None, patience: float) -> None:
        self.endpoint = endpoint
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._context = Context()
        self._connection = Connection(token, os.urandom, self._send)
        self._connection.on_opened = self._opened
        self._connection.on_refused = self._refused
        self._transport: Transport | None = None
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._failure: ComposerError | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._lost_since: float | None = None
        self._ping: asyncio.Future[None] | None = None
        self._delay = RETRY[0]

    @classmethod
    def connect(
        cls, endpoint: str, token: bytes | None = None, *, timeout: float = 5.0, patience: float = 0.0
    ) -> Opening[Agent]:
        """Connect and greet: ``await`` it, or enter it with ``async with``.

        ``timeout`` and ``patience`` are seconds. Raises `AgentLostError` when nobody answers, `AuthenticationError` for
        a wrong token on either side.
        """

        async def connected() -> Agent:
            agent = cls(endpoint, token, patience)
            await agent._open(timeout)
            return agent

        return Opening(connected)

    @property
    def boot_id(self) -> str:
        """Random for each start of the agent."""
        return self._connection.boot_id

    async def hello(self) -> HelloReply:
        """Who the agent is."""
        return parse(HelloReply, (await self.call("hello", Hello())).body)

    async def ping(self) -> float:
        """Seconds that a sign of life took, one at a time; raises `AgentLostError`, also when it has to reconnect."""
        began = self._loop.time()
        if self._failure is not None:
            raise self._again(self._failure)
        answered = self._ping = self._loop.create_future()
        self._connection.ping(lambda: _resolve(answered))
        await answered
        return self._loop.time() - began

    async def call(
        self, operation: str, body: Any, *raw: bytes, on_event: Callable[[Event], None] | None = None
    ) -> Reply:
        """Send one request and await its reply; cancelling the caller cancels the request.

        Raises `AnsweredError` for an error of the agent, `AgentLostError` when it is gone.
        """
        future: asyncio.Future[Reply] = self._loop.create_future()

        def final(outcome: Reply | WireError) -> None:
            if future.done():
                return
            if isinstance(outcome, WireError):
                future.set_exception(self._error(operation, outcome))
            else:
                future.set_result(outcome)

        def event(item: Event) -> None:
            if on_event is None or future.done():
                return
            try:
                on_event(item)
            except Exception as error:  # noqa: BLE001  # the caller's own code: the caller is told
                future.set_exception(error)
                self._connection.cancel(name, "int")
            self._connection.consumed(name, item.size)

        credit = WINDOW if on_event else None
        name = self._start(Open(operation, _plain(body), raw, event, final, credit))
        try:
            return await future
        except asyncio.CancelledError:
            self._connection.cancel(name, "int")
            raise

    def stream(self, operation: str, body: Any, *raw: bytes) -> Request:
        """Send one request whose events are iterated over."""
        request = Request(self, lambda error: self._error(operation, error))
        request.id = self._start(Open(operation, _plain(body), raw, request.on_event, request.on_final, WINDOW))
        return request

    def cancel(self, name: bytes, mode: CancelMode = "int") -> None:
        """Ask for the end of a request by its id."""
        self._connection.cancel(name, mode)

    def consumed(self, name: bytes, size: int) -> None:
        """Events of that size were taken."""
        self._connection.consumed(name, size)

    async def close(self) -> None:
        """Leave the agent; requests that are open end here with `AgentLostError`, and go on there."""
        self._end(lost(self.endpoint, "the client was closed"))
        self._context.term()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    def connected(self) -> None:
        """See `Listener`."""
        self._connection.connected()

    def received(self, frames: list[bytes]) -> None:
        """See `Listener`."""
        try:
            self._connection.receive(frames)
        except WireError as error:
            self._end(lost(self.endpoint, f"it does not speak the protocol: {error.message}"))

    def disconnected(self) -> None:
        """See `Listener`."""
        self._connection.disconnected()
        self._transport = None
        if self._ping and not self._ping.done():
            self._ping.set_exception(lost(self.endpoint, "the connection ended"))
        now = self._loop.time()
        first = self._lost_since is None and self._ready.done()
        if self._lost_since is None:
            self._lost_since, self._delay = now, RETRY[0]
        if first:
            self._dial()
        elif now - self._lost_since < self._patience:
            self._retry = self._loop.call_later(self._delay, self._dial)
            self._delay = min(self._delay * 2, RETRY[1])
        else:
            greeted = "the connection ended" if self._ready.done() else "nobody listens there"
            self._end(lost(self.endpoint, greeted))

    async def _open(self, timeout: float) -> None:
        try:
            self._dial()
            async with asyncio.timeout(timeout):
                await self._ready
        except TimeoutError:
            await self.close()
            raise lost(self.endpoint, f"no answer within {timeout:g} s") from None
        except BaseException:
            await self.close()
            raise

    def _dial(self) -> None:
        self._retry = None
        try:
            self._transport = Transport(self._context, self.endpoint, self)
        except OSError as error:
            self._end(
                UsageError(self.endpoint, f"is no endpoint: {error.strerror}", "write ipc:///FILE or tcp://HOST:PORT")
            )

    def _opened(self) -> None:
        self._lost_since = None
        _resolve(self._ready)

    def _refused(self, error: WireError) -> None:
        self._end(from_wire(self.endpoint, error))

    def _end(self, failure: ComposerError) -> None:
        """Nothing more will come: the first failure is what every caller is told."""
        if self._failure is not None:
            return
        self._failure = failure
        if self._retry:
            self._retry.cancel()
        if self._transport:
            self._transport.close()
            self._transport = None
        self._connection.disconnected()
        if not self._ready.done():
            self._ready.set_exception(failure)
        self._connection.fail(WireError("gone", failure.cause))

    def _start(self, request: Open) -> bytes:
        if self._failure is not None:
            raise self._again(self._failure)
        try:
            return self._connection.request(request)
        except WireError as error:
            raise from_wire(request.op, error) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError(request.op, f"its body cannot be sent: {error}", "use what msgpack carries") from None

    def _error(self, operation: str, error: WireError) -> ComposerError:
        return self._again(self._failure) if self._failure is not None else from_wire(operation, error)

    def _again(self, failure: ComposerError) -> ComposerError:
        """A fresh error for each caller: a traceback belongs to one."""
        return type(failure)(failure.input_name, failure.cause, failure.next_step)

    def _send(self, frames: list[bytes]) -> None:
        if self._transport:
            self._transport.send(frames)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _plain(body: Any) -> dict[str, Any]:
    return body if isinstance(body, dict) else dump(body)
