"""Running a program without a shell or terminal: two pipes, an exit status, and nothing that blocks the loop."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_stub.exchange.call import Answer, Call, CancelMode
from agent_stub.output.window import Window
from agent_stub.process.reaper import Reaper, exit_of
from agent_stub.process.tree import become_subreaper, descendants, kill_known, signal_tree, start_tick
from agent_stub.wire.errors import WireError
from agent_stub.wire.operations.session import Exec, ExecReply, Output

_READ = 1 << 16
_STEPS: tuple[tuple[float, CancelMode], ...] = ((0.0, "int"), (1.0, "term"), (0.8, "kill"))
_SIGNALS = {"int": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}


class Pipe:
    """One of the program's outputs, read as it comes."""

    def __init__(self, name: str, source: int, window: Window, emit: Callable[[str, int, bytes], None] | None) -> None:
        self._name = name
        self._source = source
        self._emit = emit
        self.window = window
        self._loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(source, False)
        self._loop.add_reader(source, self.read)

    def read(self) -> None:
        """Take what is there; `closed` is resolved at the end."""
        try:
            data = os.read(self._source, _READ)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        offset = self.window.size
        self.window.write(data)
        if self._emit is not None:
            self._emit(self._name, offset, data)

    def close(self) -> None:
        """Stop reading: at the end, or when only a daemon still holds the other end."""
        if not self.closed.done():
            self._loop.remove_reader(self._source)
            os.close(self._source)
            self.closed.set_result(None)


class Execution:
    """One run of a program."""

    def __init__(self, request: Exec, call: Call, environment: Mapping[str, str], reaper: Reaper) -> None:
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._timed_out = False
        self._below: dict[int, int | None] = {}
        self._began = time.monotonic()
        self._exited: asyncio.Future[int] = self._loop.create_future()
        started = _spawn(request, environment)
        self.pid = started.pid
        reaper.watch(self.pid, self._exited.set_result)

        def emit(name: str, offset: int, data: bytes) -> None:
            call.emit("output", Output(offset, "stdout" if name == "stdout" else "stderr"), data)

        sink = emit if request.stream else None
        self._pipes = [
            Pipe("stdout", started.stdout, Window(request.limit), sink),
            Pipe("stderr", started.stderr, Window(request.limit), sink),
        ]
        if started.stdin is not None:
            self._feed(started.stdin, request.stdin)
        call.on_cancel(self.cancel)

    async def finish(self) -> Answer:
        """Wait for the program and for its outputs, unless a daemon of it keeps those open."""
        timer = None
        if self._request.timeout is not None:
            timer = self._loop.call_later(self._request.timeout, self._escalate, 0)
        status = await self._exited
        if timer is not None:
            timer.cancel()
        if self._timed_out:
            # Since the program has ended, its orphans are the agent's children, and among them only known by name.
            kill_known(self._below)
        for pipe in self._pipes:
            if not pipe.closed.done():
                pipe.read()
        if any(not pipe.closed.done() for pipe in self._pipes):
            await asyncio.wait([pipe.closed for pipe in self._pipes], timeout=0.2)
        for pipe in self._pipes:
            pipe.close()
        return self._answer(status)

    def cancel(self, mode: CancelMode) -> None:
        """Signal the program and everything below it."""
        if mode != "detach" and not self._exited.done():
            self._below |= {pid: start_tick(pid) for pid in descendants(self.pid)}
            signal_tree(self.pid, _SIGNALS[mode], with_root=True)

    def _escalate(self, step: int) -> None:
        if self._exited.done():
            return
        self._timed_out = True
        self.cancel(_STEPS[step][1])
        if step + 1 < len(_STEPS):
            self._loop.call_later(_STEPS[step + 1][0], self._escalate, step + 1)

    def _feed(self, target: int, data: bytes) -> None:
        """Write stdin as the program takes it."""
        os.set_blocking(target, False)
        rest = memoryview(data)

        def write() -> None:
            nonlocal rest
            try:
                rest = rest[os.write(target, rest[:_READ]) :]
            except BlockingIOError:
                return
            except BrokenPipeError:
                rest = rest[len(rest) :]
            if not rest:
                self._loop.remove_writer(target)
                os.close(target)

        self._loop.add_writer(target, write)

    def _answer(self, status: int) -> Answer:
        code, number = exit_of(status)
        out, err = (pipe.window for pipe in self._pipes)
        reply = ExecReply(
            exit_code=code,
            signal=number,
            stdout=out.size,
            stderr=err.size,
            stdout_omitted=out.omitted,
            stderr_omitted=err.omitted,
            duration=time.monotonic() - self._began,
            timed_out=self._timed_out,
        )
        return Answer(reply) if self._request.stream else Answer(reply, out.content(), err.content())


@dataclass(frozen=True, slots=True)
class Started:
    """A program that runs, and our ends of its pipes; ``stdin`` is None when it reads /dev/null."""

    pid: int
    stdin: int | None
    stdout: int
    stderr: int


def _spawn(request: Exec, environment: Mapping[str, str]) -> Started:
    env = {**environment, **request.env}
    program = _program(request.argv[0], env, request.cwd)
    ours: list[int] = []
    theirs: list[int] = []
    try:
        if request.stdin:
            reading, writing = os.pipe()
            theirs.append(reading)
            ours.append(writing)
        else:
            theirs.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        for _ in range(2):
            reading, writing = os.pipe()
            ours.append(reading)
            theirs.append(writing)
        pid = _start(request, program, env, theirs)
    except OSError as error:
        for handle in ours:
            os.close(handle)
        name = request.cwd if error.filename == request.cwd and request.cwd else request.argv[0]
        codes = {errno.ENOENT: "not_found", errno.ENOTDIR: "not_found", errno.EACCES: "permission"}
        raise WireError(codes.get(error.errno or 0, "io"), f"{name}: {error.strerror}", error.errno) from error
    finally:
        for handle in theirs:
            os.close(handle)
    return Started(pid, ours[0] if request.stdin else None, ours[-2], ours[-1])


def _start(request: Exec, program: str, env: Mapping[str, str], handles: Sequence[int]) -> int:
    """Start the program with ``handles`` as its descriptors 0, 1 and 2, the only ones that it gets.

    posix_spawn(3) is the quickest way, and knows neither directories nor prctl: a subreaper is needed only where a
    timeout may have to find orphans.
    """
    if request.cwd is None and request.timeout is None:
        actions = [(os.POSIX_SPAWN_DUP2, handle, number) for number, handle in enumerate(handles)]
        return os.posix_spawn(
            program, request.argv, env, file_actions=actions, setsid=True, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
        )
    process = subprocess.Popen(
        request.argv,
        executable=program,
        cwd=request.cwd,
        env=env,
        stdin=handles[0],
        stdout=handles[1],
        stderr=handles[2],
        start_new_session=True,
        preexec_fn=become_subreaper if request.timeout is not None else None,  # noqa: PLW1509
    )
    process.returncode = 0  # ours to reap, not subprocess's
    return process.pid


def _program(name: str, env: Mapping[str, str], cwd: str | None) -> str:
    """The program's path: searched on the PATH that it will see, as execvp(3) does."""
    if "/" in name:
        return name
    for folder in env.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":"):
        path = os.path.join(cwd or ".", folder, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise WireError("not_found", f"{name}: not on PATH", 2)
