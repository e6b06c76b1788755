"""From an operation's name to its handler: one task per request, and every exception to an error message."""

from __future__ import annotations

import asyncio
import errno
import sys
from collections.abc import Callable, Mapping
from typing import Any

from agent_stub.exchange.call import CancelMode
from agent_stub.exchange.pieces import Piece, is_piece
from agent_stub.exchange.request import Request
from agent_stub.plugin import Handler
from agent_stub.wire.codec import Codec
from agent_stub.wire.errors import WireError
from agent_stub.wire.header import Header
from agent_stub.wire.operations.core import ErrorBody, Operation
from agent_stub.wire.schema import dump, parse

OS_ERRORS = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.EEXIST: "exists",
    errno.ENOTEMPTY: "exists",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.EROFS: "permission",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
}


class Running:
    """A request while its handler runs: the `Call` that the handler sees."""

    __slots__ = ("_dispatcher", "_held", "_taken", "id", "raw", "request", "stop", "task")

    def __init__(self, dispatcher: Dispatcher, request: Request, raw: tuple[bytes, ...]) -> None:
        self._dispatcher = dispatcher
        self._held: Piece | None = None
        self._taken: asyncio.Future[None] | None = None
        self.id = request.id
        self.raw = raw
        self.request = request
        self.stop: Callable[[CancelMode], None] | None = None
        self.task: asyncio.Task[None] | None = None

    def emit(self, name: str, body: Any, *raw: bytes) -> None:
        """See `Call.emit`."""
        if self.request.state == "done" or (self._held and self._held.join(name, body, raw)):
            return
        self.release()
        if is_piece(body, raw):
            # What else the handler emits in this step of the loop may continue it.
            self._held = Piece(name, body, raw[0])
            asyncio.get_running_loop().call_soon(self.release)
        else:
            self._dispatcher.emit(self.request, name, body, raw)

    def release(self) -> None:
        """Send the piece that was held back."""
        held, self._held = self._held, None
        if held:
            self._dispatcher.emit(self.request, held.name, held.body, (held.data,))

    async def drain(self) -> None:
        """See `Call.drain`; raises `WireError` ``timeout`` when the client stays away for too long."""
        limits = self._dispatcher.codec.limits
        self.release()
        while self.request.waiting > limits.ring // 2:
            self._taken = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(limits.kept_seconds):
                    await self._taken
            except TimeoutError:
                raise WireError("timeout", f"the client took nothing for {limits.kept_seconds:.0f} s") from None

    def on_cancel(self, stop: Callable[[CancelMode], None]) -> None:
        """See `Call.on_cancel`."""
        self.stop = stop

    def sent(self) -> None:
        """Some events went out: wake the handler when few are left."""
        if self._taken and not self._taken.done() and self.request.waiting <= self._dispatcher.codec.limits.ring // 2:
            self._taken.set_result(None)


class Dispatcher:
    """Runs handlers. ``flush`` sends what a request has to send, ``finished`` is told of each one's end."""

    def __init__(
        self, codec: Codec, operations: Mapping[str, tuple[Operation, Handler]], flush: Callable[[Request], None]
    ) -> None:
        self.codec = codec
        self._operations = operations
        self._flush = flush
        self._running: dict[bytes, Running] = {}
        self.finished: Callable[[Request], None] = lambda _request: None

    @property
    def names(self) -> list[str]:
        """The operations that are answered."""
        return sorted(self._operations)

    def start(self, request: Request, body: dict[str, Any], raw: tuple[bytes, ...]) -> None:
        """Check the body and start the handler, or finish the request with an error."""
        known = self._operations.get(request.op)
        if known is None:
            self._fail(request, WireError("unknown_operation", f"no operation is called {request.op[:64]!r}"))
            return
        operation, handler = known
        try:
            checked = parse(operation.request, body)
        except WireError as error:
            self._fail(request, error)
            return
        running = Running(self, request, raw)
        self._running[request.id] = running
        running.task = asyncio.get_running_loop().create_task(self._answer(running, handler, checked))

    def cancel(self, request: Request, mode: CancelMode) -> None:
        """Pass a client's cancel on; a handler that cannot be stopped gently has its task cancelled."""
        running = self._running.get(request.id)
        if running is None:
            return
        request.move("cancel")
        if running.stop:
            running.stop(mode)
        elif running.task:
            running.task.cancel()

    def emit(self, request: Request, name: str, body: Any, raw: tuple[bytes, ...]) -> None:
        """Number an event, keep it, and send what can be sent."""
        header = Header(request.id, "event", name, request.ring.last + 1)
        request.ring.append(self.codec.encode(header, _plain(body), raw))
        self._flush(request)

    def sent(self, request: Request) -> None:
        """Some of the request's events went out."""
        running = self._running.get(request.id)
        if running:
            running.sent()

    async def close(self) -> None:
        """Cancel every handler and wait for their final messages."""
        tasks = [running.task for running in self._running.values() if running.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, running: Running, handler: Handler, body: Any) -> None:
        request = running.request
        try:
            answer = await handler(body, running)
            running.release()
            header = Header(request.id, "reply", seq=request.ring.last, final=True)
            frames = self.codec.encode(header, _plain(answer.body), answer.raw)
        except WireError as error:
            self._fail(request, error)
        except asyncio.CancelledError:
            self._fail(request, WireError("cancelled", "the request was cancelled"))
        except OSError as error:
            self._fail(request, from_os(error))
        except Exception as error:  # noqa: BLE001  # the border: a fault of one handler is one error message
            sys.excepthook(type(error), error, error.__traceback__)
            self._fail(request, WireError("internal", f"{type(error).__name__}: {error}"))
        else:
            self._finish(request, frames)

    def _fail(self, request: Request, error: WireError) -> None:
        if running := self._running.get(request.id):
            running.release()
        self._finish(request, error_frames(self.codec, request.id, error, request.ring.last))

    def _finish(self, request: Request, frames: list[bytes]) -> None:
        self._running.pop(request.id, None)
        request.finish(frames)
        self.finished(request)
        self._flush(request)


def error_frames(codec: Codec, request: bytes, error: WireError, seq: int = 0) -> list[bytes]:
    """The final error message of a request."""
    message = error.message.encode(errors="backslashreplace").decode()
    body = ErrorBody(error.code, message[:4096], error.errno, error.retryable)
    return codec.encode(Header(request, "error", seq=seq, final=True), dump(body))


def from_os(error: OSError) -> WireError:
    """The wire's error for one of the operating system."""
    name = f": {error.filename!r}" if error.filename is not None else ""
    code = OS_ERRORS.get(error.errno or 0, "io")
    return WireError(code, f"{error.strerror or error}{name}", error.errno)


def _plain(body: Any) -> dict[str, Any]:
    return body if isinstance(body, dict) else dump(body)
