"""One shell on a pty: a command in, its bytes, exit code and directory out, with nothing of bash's own in between.

The shell prints a random mark before it runs the text, so that prompts and what came between commands are told apart
from output. Completion: the shell reports on a private pipe; the agent then writes a random barrier to the slave side
and reads the master until it appears. What came between the two is the command's output, all of it and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from agent_stub.process.reaper import Reaper, exit_of
from agent_stub.process.tree import now_tick, start_tick
from agent_stub.sessions.pty import Launch, Terminal
from agent_stub.sessions.rcfile import ACK, STATUS, late_report, startup, trigger

_READ = 1 << 16
_BURST = 16
MARK = 24  # bytes
_TAKEOVER = 0.05  # seconds in which a job that a shell is starting takes the terminal
_LOOKS = 3


def _new_mark() -> bytes:
    return secrets.token_hex(MARK // 2).encode()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. ``alive`` is False when the shell itself has ended, by ``signal`` if that is not None."""

    exit_code: int | None
    cwd: str
    alive: bool = True
    signal: int | None = None
    noisy: bool = False


class Shell:
    """A shell and its terminal. ``output`` gets the bytes of the running command, ``idle`` those between commands."""

    def __init__(
        self, launch: Launch, *, bash: bool, folder: str, reaper: Reaper, idle: Callable[[bytes], None]
    ) -> None:
        self._bash = bash
        self._prompt = b"" if bash else b"\x16" + _new_mark()
        self._held = b""
        self._folder = folder
        self.file = f"{folder}/command"
        self._idle = idle
        self._loop = asyncio.get_running_loop()
        self._status, status_w = os.pipe()
        ack_r, self._ack = os.pipe()
        numbers = {STATUS: status_w, ACK: ack_r} if bash else {7: status_w, 8: ack_r}
        with open(f"{folder}/rc", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(startup(bash=bash, folder=folder, prompt=self._prompt.decode()))
        # Kept open: truncating by name costs 0.3 ms on a disk's file system, rewriting in place a hundredth of that.
        self._text = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(f"{self.file}-none", "wb"):
            pass
        try:
            self.terminal = Terminal(Launch(launch.argv, launch.cwd, launch.env, launch.rows, launch.columns, numbers))
        except BaseException:
            for handle in (self._status, self._ack, self._text):
                os.close(handle)
            raise
        finally:
            os.close(status_w)
            os.close(ack_r)
        self.pid = self.terminal.pid
        self._frame = bytearray()
        self._start = self._barrier = self._unwritten = b""
        self._pending = bytearray()
        self._leading = False
        self._interrupted = self._owed = False
        self._output: Callable[[bytes], None] | None = None
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._report: Ended | None = None
        self._exit: int | None = None
        self.cwd = launch.cwd or "/"
        reaper.watch(self.pid, self._on_exit)
        self._loop.add_reader(self.terminal.master, self._on_output)
        self._loop.add_reader(self._status, self._on_status)

    @property
    def ready(self) -> asyncio.Future[Ended]:
        """Resolved when the shell waits for its first command, or has ended instead."""
        return self._ended

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return not self._ended.done()

    def begin(self, text: bytes, output: Callable[[bytes], None]) -> asyncio.Future[Ended]:
        """Run ``text``; the future gives its end. Output goes to ``output`` as it comes."""
        _rewrite(self._text, text if text.endswith(b"\n") else text + b"\n")
        self._ended = self._loop.create_future()
        self._output = output
        self._report = None
        # Everything before this mark was written between the commands.
        self._leading, self._interrupted = True, False
        self._start = _new_mark()
        self._type(trigger(bash=self._bash, file=self.file, mark=self._start.decode()))
        if self._owed:
            self._owed = False
            os.write(self._ack, b"\n")
        return self._ended

    def type(self, data: bytes) -> None:
        """Type into the terminal."""
        self._type(data)

    def interrupt(self) -> None:
        """Press ^C, once the shell has taken the trigger: earlier the terminal would flush that away (termios(3))."""
        if self._leading:
            self._interrupted = True
            return
        self._type(b"\x03")
        self._loop.call_later(_TAKEOVER, self._interrupt_job, self._ended, now_tick() - 2, _LOOKS)

    def _interrupt_job(self, command: asyncio.Future[Ended], since: int, looks: int) -> None:
        """Press ^C again, once, for a foreground job that was being started when it was pressed.

        A job that is forked and not yet executed swallows the signal in the shell's own handler, and so does a shell
        that is about to fork it. No event tells of a new foreground group, hence a few looks, and only after a ^C.
        """
        if command.done() or command is not self._ended:
            return
        group = os.tcgetpgrp(self.terminal.master)
        started = start_tick(group)
        if group != self.pid and started is not None and started >= since:
            self._type(b"\x03")
        elif looks > 1:
            self._loop.call_later(_TAKEOVER, self._interrupt_job, command, since, looks - 1)

    def close(self) -> None:
        """Let go of the terminal and the pipes."""
        self._loop.remove_reader(self.terminal.master)
        self._loop.remove_reader(self._status)
        self.terminal.close()
        os.close(self._status)
        os.close(self._ack)
        os.close(self._text)

    def _type(self, data: bytes) -> None:
        # A line of the terminal holds 4,095 bytes; more than its queue takes would block the loop, and is dropped.
        try:
            os.write(self.terminal.master, data)
        except BlockingIOError:
            return

    def _mark(self) -> None:
        self._barrier = self._unwritten = _new_mark()
        self._write_barrier()

    def _write_barrier(self) -> None:
        """Write to the slave side what its queue takes; the rest after the next read of the master."""
        try:
            self._unwritten = self._unwritten[os.write(self.terminal.slave, self._unwritten) :]
        except BlockingIOError:
            return

    def _on_output(self) -> None:
        for _ in range(_BURST):
            try:
                data = os.read(self.terminal.master, _READ)
            except BlockingIOError:
                return
            except OSError:  # EIO: the terminal was hung up
                self._loop.remove_reader(self.terminal.master)
                return
            if self._barrier or self._leading:
                self._search(data)
            else:
                self._give(data)
            if self._unwritten:
                self._write_barrier()

    def _search(self, data: bytes) -> None:
        """Give what is before the two marks, the shell's and the agent's, each to whom it belongs."""
        self._pending += data
        if self._leading and (at := self._pending.find(self._start)) >= 0:
            self._hand_over(at, len(self._start))
            self._leading = False
            if self._report is not None and not self._barrier:
                self._mark()
            if self._interrupted:
                self.interrupt()
        if self._barrier and (at := self._pending.find(self._barrier)) >= 0:
            self._hand_over(at, len(self._barrier))
            self._barrier = b""
            self._leading = False
            after = bytes(self._pending)
            self._pending.clear()
            self._complete(after)
            return
        # All but what may be the beginning of a mark.
        keep = MARK - 1 if self._leading or self._barrier else 0
        if len(self._pending) > keep:
            self._hand_over(len(self._pending) - keep, 0)

    def _hand_over(self, size: int, mark: int) -> None:
        data = bytes(self._pending[:size])
        del self._pending[: size + mark]
        if data:
            self._give(data)

    def _give(self, data: bytes) -> None:
        if self._prompt:
            data = self._without_prompt(data)
        if not data:
            return
        if self._leading or self._output is None:
            self._idle(data)
        else:
            self._output(data)

    def _without_prompt(self, data: bytes) -> bytes:
        """Take an sh's prompt out of its output; while a command runs it means that the line was given up."""
        data, self._held = self._held + data, b""
        if self._prompt in data:
            data = data.replace(self._prompt, b"")
            if self._output is not None and not self._leading and self._report is None:
                self._type(late_report())
        at = data.rfind(self._prompt[:1], -len(self._prompt))
        if at >= 0 and self._prompt.startswith(data[at:]):
            data, self._held = data[:at], data[at:]
        return data

    def _on_status(self) -> None:
        data = os.read(self._status, 4096)
        if not data:
            # The shell ends, or a program was put in its place by `exec`: its own end will tell.
            self._loop.remove_reader(self._status)
            return
        self._frame += data
        if not self._frame.endswith(b"\0\n"):
            return
        code, cwd, noisy = bytes(self._frame[:-2]).split(b"\0")[:3]
        self._frame.clear()
        self.cwd = os.fsdecode(cwd) or self.cwd
        self._report = Ended(int(code), self.cwd, noisy=bool(noisy))
        if not self._leading:
            self._mark()

    def _complete(self, after: bytes) -> None:
        report, self._output = self._report, None
        if after:
            self._idle(after)
        if self._exit is not None:
            self._end(self._exited())
        elif report is not None:
            self.terminal.restore()
            # busybox's ash takes a SIGCHLD at its prompt for the end of its input, and exits. So an sh waits for its
            # next command inside the trigger of the last one, and passes by its prompt when that command is there.
            self._owed = not self._bash
            if self._bash:
                os.write(self._ack, b"\n")
            self._end(report)

    def _on_exit(self, status: int) -> None:
        self._exit = status
        self._mark()

    def _exited(self) -> Ended:
        assert self._exit is not None
        code, number = exit_of(self._exit)
        try:
            with open(f"{self._folder}/cwd", "rb") as file:
                self.cwd = os.fsdecode(file.read()) or self.cwd
        except OSError:
            pass  # it was killed, or is an sh: the last report counts
        return Ended(code, self.cwd, alive=False, signal=number)

    def _end(self, ended: Ended) -> None:
        if not self._ended.done():
            self._ended.set_result(ended)


def _rewrite(handle: int, data: bytes) -> None:
    """Make ``data`` the content of an open file."""
    done = 0
    while done < len(data):
        done += os.pwrite(handle, data[done:], done)
    os.ftruncate(handle, done)
