"""A sandbox: a composed image that runs, and its agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from agent_stub.wire.operations.core import HelloReply, Shutdown
from agent_stub.wire.operations.session import Exec, SessionOpen
from composer.client.agent import Agent
from composer.client.connection import Reply
from composer.client.files import Files
from composer.client.opening import Opening
from composer.client.results import ExecResult, OutputPiece, RunResult
from composer.client.session import OnOutput, RunOptions, Session, execute
from composer.client.start import Changes, Start, StartOptions, start
from composer.errors import AgentLostError
from composer.progress import Progress

if TYPE_CHECKING:
    from composer.runtime.engine import Engine, Running
    from composer.store.store import Store

__all__ = ["RunChanges", "Sandbox", "StartOptions"]

MAIN = "main"


class RunChanges(TypedDict, total=False):
    """`RunOptions` by keyword."""

    cwd: str | None
    env: Mapping[str, str]
    timeout: float | None
    soft_timeout: float | None
    wait: bool
    limit: int


class Sandbox:
    """Runs commands and programs, and reads and writes files, inside.

    ``async with Sandbox.start("alpine:3.20") as box: print((await box.run("uname -a")).output)``
    """

    def __init__(self, agent: Agent, engine: Engine | None = None, running: Running | None = None) -> None:
        self.agent = agent
        self.files = Files(agent)
        self._engine = engine
        self._running = running
        self._owned = False
        self._main = Session(agent, MAIN)

    @classmethod
    def start(
        cls,
        base: str,
        *,
        options: StartOptions | None = None,
        name: str | None = None,
        owned: bool = True,
        store: Store | None = None,
        progress: Progress | None = None,
        **changes: Unpack[Changes],
    ) -> Opening[Sandbox]:
        """Compose ``base`` when needed and start it: ``await`` it, or enter it with ``async with``.

        An ``owned`` sandbox is removed by `close` and by the end of this process, any other by `Engine.remove` only.
        Raises the errors of composing and of the engine, `AgentLostError`.
        """
        request = Start(base, replace(options or StartOptions(), **changes), name, owned, store, progress)

        async def started() -> Sandbox:
            engine, running = await start(request)
            try:
                box = cls(await Agent.connect(running.endpoint, running.token), engine, running)
            except BaseException:
                await engine.remove(running.name)
                raise
            box._owned = owned
            return box

        return Opening(started)

    @classmethod
    def attach(cls, engine: Engine, name: str) -> Opening[Sandbox]:
        """A sandbox that runs already, by its name; closing it leaves it running."""

        async def attached() -> Sandbox:
            running = await engine.connect(name)
            return cls(await Agent.connect(running.endpoint, running.token), engine, running)

        return Opening(attached)

    @classmethod
    def connect(cls, endpoint: str, token: bytes | str | None = None, *, patience: float = 0.0) -> Opening[Sandbox]:
        """Any agent at ``endpoint`` (``ipc:///FILE`` or ``tcp://HOST:PORT``); see `Agent.connect`."""

        async def connected() -> Sandbox:
            secret = token.encode() if isinstance(token, str) else token
            return cls(await Agent.connect(endpoint, secret, patience=patience))

        return Opening(connected)

    @property
    def running(self) -> Running:
        """What the engine started; raises `AgentLostError` for a sandbox that no engine started."""
        if self._running is None:
            raise AgentLostError(self.agent.endpoint, "no engine of ours started it", "use Sandbox.start or attach")
        return self._running

    async def hello(self) -> HelloReply:
        """Who the agent is."""
        return await self.agent.hello()

    async def call(self, operation: str, body: Any, *raw: bytes) -> Reply:
        """Send a request of any operation."""
        return await self.agent.call(operation, body, *raw)

    async def run(
        self, command: str | bytes, *, on_output: OnOutput | None = None, **options: Unpack[RunChanges]
    ) -> RunResult:
        """Run a command text in the persistent shell `main`; see `Session.run`."""
        return await self._main.run(command, RunOptions(**options), on_output=on_output)

    def stream(self, command: str | bytes, **options: Unpack[RunChanges]) -> AsyncIterator[OutputPiece | RunResult]:
        """Run a command text in `main`: its output piece by piece, and the result as the last item."""
        return self._main.stream(command, RunOptions(**options))

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
        on_output: Callable[[str, bytes], object] | None = None,
        limit: int = 1 << 20,
    ) -> ExecResult:
        """Run a program without a shell; ``on_output`` gets ``stdout`` or ``stderr`` and the bytes as they come."""
        body = Exec(list(argv), cwd, dict(env or {}), stdin, timeout, on_output is not None, limit)
        return await execute(self.agent, body, on_output)

    def session(self, name: str) -> Session:
        """The shell of that name, which must be open."""
        return Session(self.agent, name)

    async def open_session(self, name: str = "", options: SessionOpen | None = None) -> Session:
        """A new shell; without a name the agent chooses one."""
        session = Session(self.agent, name)
        await session.open(options)
        return session

    async def shutdown(self, grace: float = 0.5) -> None:
        """End the agent and everything that it started; the sandbox ends with it."""
        await self.agent.call("shutdown", Shutdown(grace))

    async def disconnect(self) -> None:
        """Leave the sandbox as it is."""
        await self.agent.close()

    async def close(self) -> None:
        """Leave the sandbox, and remove it when it is owned."""
        await self.disconnect()
        if self._owned and self._engine and self._running:
            self._owned = False
            await self._engine.remove(self._running.name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()
