"""A session: a shell that is there again when it has ended, one command at a time, and what came between commands."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from agent_stub.exchange.call import Answer, Call, CancelMode
from agent_stub.output.spill import Spill, SpillFolder
from agent_stub.output.window import Window
from agent_stub.process.reaper import Reaper
from agent_stub.process.tree import kill_tree, kill_whole, now_tick, signal_tree
from agent_stub.sessions.pty import Launch
from agent_stub.sessions.shell import Ended, Shell
from agent_stub.sessions.syntax import parses
from agent_stub.wire.errors import WireError
from agent_stub.wire.operations.session import Output, Run, RunReply

_EARLIER = 1 << 16
# Hard timeout: INT, then TERM, then KILL, all within three seconds.
_STEPS: tuple[tuple[float, CancelMode], ...] = ((0.0, "int"), (1.0, "term"), (0.8, "kill"))
_SHELL_TOO = 0.3  # seconds after KILL, for a shell that goes on starting programs


@dataclass(frozen=True, slots=True)
class Setting:
    """How a session's shell is started, each time."""

    name: str
    argv: tuple[str, ...]
    bash: bool
    cwd: str | None
    env: Mapping[str, str]
    rows: int
    columns: int
    folder: str


class Command:
    """A running command: its output so far and, in the end, its reply."""

    def __init__(self, request: Run, spills: SpillFolder) -> None:
        self.request = request
        self.began = time.monotonic()
        self.began_tick = now_tick()
        self.window = Window(request.limit)
        self.spill = Spill(spills)
        self.call: Call | None = None
        self.timed_out = False
        self.timers: list[asyncio.TimerHandle] = []

    def write(self, data: bytes) -> None:
        """Take output."""
        offset = self.window.size
        self.window.write(data)
        self.spill.write(data, omitting=self.window.omitted > 0)
        if self.call is not None and self.request.stream:
            self.call.emit("output", Output(offset), data)

    def close(self) -> None:
        """The command has ended, or its session."""
        self.spill.close()
        for timer in self.timers:
            timer.cancel()


class Session:
    """One named shell. `run` takes its turn; the commands of a session never overlap."""

    def __init__(self, setting: Setting, reaper: Reaper, spills: SpillFolder) -> None:
        self.setting = setting
        self._reaper = reaper
        self._spills = spills
        self._turn = asyncio.Lock()
        self._earlier = Window(_EARLIER)
        self._noisy = False
        self._command: Command | None = None
        self._ended: asyncio.Future[Ended] | None = None
        self.shell = self._start(setting.cwd)

    async def ready(self) -> None:
        """Wait until the shell takes commands; raises `WireError` when it ends instead."""
        ended = await self.shell.ready
        if not ended.alive:
            raise WireError("io", f"{self.setting.argv[0]} ended at its start with {ended.exit_code}")

    async def run(self, request: Run, call: Call) -> Answer:
        """Run a command, or wait for the one that a soft timeout left running when the text is empty."""
        if (self._turn.locked() or self._command is not None) and not request.wait:
            raise WireError("busy", f"session {self.setting.name!r} runs a command")
        async with self._turn:
            if self._command is not None and request.command:
                assert self._ended is not None
                await asyncio.wait([self._ended])
                await self._settle()
            command = self._command or await self._begin(request)
            command.call = call
            call.on_cancel(self._cancel)
            return await self._finish(command, request)

    def input(self, data: bytes) -> None:
        """Type into the running command; raises `WireError` ``invalid`` when none runs: a shell would execute it."""
        if self._command is None:
            raise WireError("invalid", f"no command runs in session {self.setting.name!r}")
        self.shell.type(data)

    def close(self) -> None:
        """End the shell and everything below it."""
        kill_whole(self.shell.pid)
        if self._command is not None:
            self._command.close()
        self.shell.close()
        shutil.rmtree(self.setting.folder, ignore_errors=True)

    def _start(self, cwd: str | None) -> Shell:
        setting = self.setting
        launch = Launch(setting.argv, _existing(cwd), setting.env, setting.rows, setting.columns, {})
        return Shell(launch, bash=setting.bash, folder=setting.folder, reaper=self._reaper, idle=self._on_idle)

    def _on_idle(self, data: bytes) -> None:
        # With a prompt of the user's own, its bytes cannot be told from those of background jobs.
        if not self._noisy:
            self._earlier.write(data)

    async def _begin(self, request: Run) -> Command:
        text, command = _text(request), Command(request, self._spills)
        self._ended = self.shell.begin(text, command.write)
        self._command = command
        if request.timeout is not None:
            loop = asyncio.get_running_loop()
            command.timers.append(loop.call_later(request.timeout, self._escalate, command, 0))
        return command

    async def _finish(self, command: Command, request: Run) -> Answer:
        assert self._ended is not None
        self._detached = asyncio.get_running_loop().create_future()
        timer = None
        if request.soft_timeout is not None:
            timer = asyncio.get_running_loop().call_later(request.soft_timeout, self._detach)
        await asyncio.wait([self._ended, self._detached], return_when=asyncio.FIRST_COMPLETED)
        if timer is not None:
            timer.cancel()
        if not self._ended.done():
            command.call = None
            return self._answer(command, request, RunReply(state="running", cwd=self.shell.cwd))
        return await self._settled(command, request)

    async def _settled(self, command: Command, request: Run) -> Answer:
        assert self._ended is not None
        ended = self._ended.result()
        self._noisy = ended.noisy
        if command.timed_out:
            # What left the foreground before ^C came: daemons, other sessions.
            kill_tree(self.shell.pid, since=command.began_tick)
        restarted = await self._settle()
        syntax = ended.exit_code == 2 and ended.alive
        reply = RunReply(
            state="done" if ended.alive else "exited",
            exit_code=ended.exit_code,
            signal=ended.signal,
            cwd=ended.cwd,
            restarted=restarted,
            syntax=syntax and not await parses(self.setting.argv[0], self.shell.file, self._reaper),
        )
        return self._answer(command, request, reply)

    async def _settle(self) -> bool:
        """Forget the command that has ended, and start a new shell when the old one has; says whether it has."""
        assert self._ended is not None
        assert self._command is not None
        ended = self._ended.result()
        self._command.close()
        self._command, self._ended = None, None
        if ended.alive:
            return False
        self.shell.close()
        self.shell = self._start(self.shell.cwd)
        await self.ready()
        return True

    def _answer(self, command: Command, request: Run, reply: RunReply) -> Answer:
        window, earlier = command.window, self._earlier
        self._earlier = Window(_EARLIER)
        whole = RunReply(
            state=reply.state, exit_code=reply.exit_code, signal=reply.signal, cwd=reply.cwd, size=window.size,
            omitted=window.omitted, head=window.head if window.omitted else 0, spill=command.spill.path,
            earlier=earlier.size, duration=time.monotonic() - command.began, timed_out=command.timed_out,
            syntax=reply.syntax, restarted=reply.restarted,
        )  # fmt: skip
        raw = [] if request.stream else [window.content()]
        return Answer(whole, *raw, *([earlier.content()] if earlier.size else []))

    def _detach(self) -> None:
        if not self._detached.done():
            self._detached.set_result(None)

    def _cancel(self, mode: CancelMode) -> None:
        command = self._command
        if command is None:
            return
        if mode == "detach":
            self._detach()
        elif mode == "int":
            self.shell.interrupt()
        elif mode == "term":
            signal_tree(self.shell.pid, signal.SIGTERM, with_root=False, since=command.began_tick)
        elif not kill_tree(self.shell.pid, since=command.began_tick):
            # Nothing below it: the shell itself is busy.
            kill_whole(self.shell.pid, since=command.began_tick)

    def _escalate(self, command: Command, step: int) -> None:
        """The hard timeout's next step, while the command still runs."""
        if command is not self._command or (self._ended is not None and self._ended.done()):
            return
        command.timed_out = True
        self._cancel(_STEPS[step][1])
        later = asyncio.get_running_loop().call_later
        if step + 1 < len(_STEPS):
            command.timers.append(later(_STEPS[step + 1][0], self._escalate, command, step + 1))
        else:
            command.timers.append(later(_SHELL_TOO, self._kill_shell, command))

    def _kill_shell(self, command: Command) -> None:
        if command is self._command and self._ended is not None and not self._ended.done():
            kill_whole(self.shell.pid, since=command.began_tick)


def _existing(folder: str | None) -> str | None:
    """The folder, or the nearest one above it that is still there."""
    while folder is not None and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _text(request: Run) -> bytes:
    """The text with what comes first, on its own first line so that line numbers stay."""
    text = request.command if isinstance(request.command, bytes) else request.command.encode("utf-8", "surrogateescape")
    if b"\0" in text:
        raise WireError("invalid", "the command has a NUL byte")
    first = []
    if request.cwd is not None:
        first.append(f"cd -- {shlex.quote(request.cwd)} || return $?; ")
    for name, value in request.env.items():
        if not name.isidentifier():
            raise WireError("invalid", f"{name[:64]!r} is not a variable's name")
        first.append(f"export {name}={shlex.quote(value)}; ")
    return "".join(first).encode("utf-8", "surrogateescape") + text
