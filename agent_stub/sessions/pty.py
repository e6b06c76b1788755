"""A program on a pseudo-terminal whose settings are those that exact output needs."""

from __future__ import annotations

import ctypes
import fcntl
import os
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_stub.process.tree import become_subreaper
from agent_stub.wire.errors import WireError

_TIOCGPTPEER = 0x5441
_MODE = list[Any]


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: the program, where, with which variables and descriptors (``{number in the child: ours}``)."""

    argv: Sequence[str]
    cwd: str | None
    env: Mapping[str, str]
    rows: int
    columns: int
    descriptors: Mapping[int, int]


class Terminal:
    """The program's terminal: ``master`` is read and written without blocking, ``slave`` has barriers and settings."""

    def __init__(self, launch: Launch) -> None:
        # Imported here: it costs 20 ms, and an agent that only executes programs needs none of it.
        from ptyprocess import PtyProcess

        try:
            self._process = PtyProcess.spawn(
                list(launch.argv),
                cwd=launch.cwd,
                env=dict(launch.env),
                echo=False,
                preexec_fn=_in_child(launch.descriptors),
                dimensions=(launch.rows, launch.columns),
                pass_fds=(*launch.descriptors, *launch.descriptors.values()),
            )
        except OSError as error:
            raise WireError(
                "io", f"no terminal can be had ({error.strerror}); is devpts mounted?", error.errno
            ) from error
        except Exception as error:
            raise WireError("not_found", f"the shell cannot be started: {error}") from error
        self.pid: int = self._process.pid
        self.master: int = self._process.fd
        os.set_blocking(self.master, False)
        self.slave = _open_slave(self.master)
        os.set_blocking(self.slave, False)
        self._mode = _exact(self.slave)
        self.restore()

    def restore(self) -> None:
        """Undo what programs did to the terminal's settings, and drop what was typed and not read."""
        termios.tcflush(self.slave, termios.TCIFLUSH)
        termios.tcsetattr(self.slave, termios.TCSANOW, self._mode)

    def close(self) -> None:
        """Close both ends: what still runs on the terminal gets SIGHUP."""
        os.close(self.slave)
        self._process.fileobj.close()
        # Else its finaliser would close once more, and sleep for a tenth of a second after that.
        self._process.closed = True


def _in_child(descriptors: Mapping[int, int]) -> Callable[[], None]:
    def run() -> None:
        become_subreaper()
        # Out of the way first: ours may have a number that another one is to have, or its own, and keep close-on-exec.
        apart = {number: fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 20) for number, ours in descriptors.items()}
        for number, ours in apart.items():
            os.dup2(ours, number)

    return run


def _open_slave(master: int) -> int:
    try:
        # Needs no path to the terminal: the agent's mount namespace may show another devpts.
        return fcntl.ioctl(master, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        number = ctypes.c_int()
        fcntl.ioctl(master, 0x80045430, number)  # TIOCGPTN
        return os.open(f"/dev/pts/{number.value}", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)


def _exact(slave: int) -> _MODE:
    """The settings: output as it was written, input not echoed, no flow control by ^S."""
    mode = termios.tcgetattr(slave)
    mode[0] &= ~termios.IXON
    mode[1] &= ~(termios.OPOST | termios.ONLCR)
    mode[3] &= ~termios.ECHO
    return mode
