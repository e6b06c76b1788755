"""Reaping: the agent's own children by name, and as PID 1 the orphans that the kernel gives it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

Exited = Callable[[int], None]


class Reaper:
    """The one place that waits for children. Driven by SIGCHLD through the event loop; it never blocks."""

    def __init__(self) -> None:
        self._watched: dict[int, Exited] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGCHLD, self.sweep)

    def watch(self, pid: int, exited: Exited) -> None:
        """Call ``exited`` with the wait status of ``pid``. To be called in the step of the loop that made the child."""
        self._watched[pid] = exited

    def sweep(self) -> None:
        """Reap everything that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            exited = self._watched.pop(pid, None)
            if exited is not None:
                exited(status)

    def close(self) -> None:
        """Stop listening."""
        self._loop.remove_signal_handler(signal.SIGCHLD)


def exit_of(status: int) -> tuple[int | None, int | None]:
    """Exit code and signal of a wait status, one of them None."""
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.waitstatus_to_exitcode(status), None
