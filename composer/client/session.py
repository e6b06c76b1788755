"""A persistent shell in the sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

from agent_stub.wire.operations.session import (
    Exec,
    ExecReply,
    Input,
    Output,
    Run,
    RunReply,
    SessionClose,
    SessionOpen,
    SessionOpened,
)
from agent_stub.wire.schema import parse
from composer.client.agent import Agent
from composer.client.connection import Event, Reply
from composer.client.results import ExecResult, OutputPiece, RunResult

OnOutput = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Choices of a run; times are seconds, ``limit`` bytes. See `agent_stub.wire.operations.session.Run`."""

    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    soft_timeout: float | None = None
    wait: bool = True
    limit: int = 1 << 20

    def body(self, session: str, command: str | bytes, *, stream: bool) -> Run:
        """The request."""
        return Run(
            command,
            session,
            self.cwd,
            dict(self.env),
            self.timeout,
            self.soft_timeout,
            self.wait,
            stream,
            self.limit,
        )


class Session:
    """A shell by its name; commands given to it run one after the other and share its variables and directory."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent = agent
        self.name = name

    async def open(self, options: SessionOpen | None = None) -> SessionOpened:
        """Start the shell; raises `AnsweredError` ``session_exists``."""
        reply = await self._agent.call("session.open", options or SessionOpen(self.name))
        opened = parse(SessionOpened, reply.body)
        self.name = opened.session
        return opened

    async def run(
        self, command: str | bytes, options: RunOptions | None = None, *, on_output: OnOutput | None = None
    ) -> RunResult:
        """Run a command text; with ``on_output`` its bytes come there as they are written, and not in the result."""
        body = (options or RunOptions()).body(self.name, command, stream=on_output is not None)
        if on_output is None:
            return _run_result(await self._agent.call("run", body))
        given = 0

        def take(event: Event) -> None:
            nonlocal given
            if event.name == "output":
                given += len(event.raw[0])
                on_output(event.raw[0])

        return _run_result(await self._agent.call("run", body, on_event=take), given)

    async def stream(
        self, command: str | bytes, options: RunOptions | None = None
    ) -> AsyncIterator[OutputPiece | RunResult]:
        """Run a command text: its output piece by piece, and the result as the last item."""
        body = (options or RunOptions()).body(self.name, command, stream=True)
        async with self._agent.stream("run", body) as request:
            given = 0
            async for event in request:
                piece = _piece(event)
                if piece:
                    given += len(piece.data)
                    yield piece
            yield _run_result(await request.reply(), given)

    async def input(self, text: str | bytes) -> None:
        """Type into the command that runs."""
        await self._agent.call("session.input", Input(self.name, text))

    async def close(self) -> None:
        """End the shell and everything that it started."""
        await self._agent.call("session.close", SessionClose(self.name))


async def execute(agent: Agent, body: Exec, on_output: Callable[[str, bytes], object] | None = None) -> ExecResult:
    """Run a program without a shell; ``on_output`` gets ``stdout`` or ``stderr`` and the bytes."""

    def piece(event: Event) -> None:
        found = _piece(event)
        if found and on_output:
            on_output(found.stream, found.data)

    reply = await agent.call("exec", body, on_event=piece if on_output else None)
    answer = parse(ExecReply, reply.body)
    out, error = (*reply.raw, b"", b"")[:2]
    return ExecResult(
        out,
        error,
        answer.exit_code,
        answer.signal,
        answer.stdout_omitted,
        answer.stderr_omitted,
        answer.duration,
        answer.timed_out,
    )


def _piece(event: Event) -> OutputPiece | None:
    if event.name == "gap":
        return OutputPiece(b"", gap=True)
    if event.name != "output":
        return None
    body = parse(Output, event.body)
    return OutputPiece(event.raw[0], body.stream, body.offset)


def _run_result(reply: Reply, streamed: int | None = None) -> RunResult:
    """The result; ``streamed`` bytes of output were given out already."""
    answer = parse(RunReply, reply.body)
    raw = list(reply.raw)
    earlier = raw.pop() if answer.earlier and raw else b""
    return RunResult(
        raw[0] if raw and streamed is None else b"",
        answer.exit_code,
        answer.state,
        answer.cwd,
        answer.signal,
        answer.size,
        answer.omitted if streamed is None else answer.size - streamed,
        answer.spill,
        earlier,
        answer.duration,
        answer.timed_out,
        answer.syntax,
        answer.restarted,
    )
