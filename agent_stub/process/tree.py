"""A process and everything that it started, also what has left its session or lost its parent.

Shells and timed programs are made child subreapers (prctl(2)): the kernel gives an orphan to its nearest living
ancestor that is one, so the tree below such a process is complete, whatever daemons in it did.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator, Mapping

_PR_SET_CHILD_SUBREAPER = 36
_ROUNDS = 8


def become_subreaper() -> None:
    """Make this process the reaper of its descendants' orphans; kept over execve(2)."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def now_tick() -> int:
    """Now, as /proc counts a process's start (proc(5), stat field 22): clock ticks since boot."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def start_tick(pid: int) -> int | None:
    """When a process was started; None when it is gone, or without /proc."""
    fields = _stat(str(pid))
    return None if fields is None else int(fields[19])


def descendants(root: int, *, since: int = 0) -> list[int]:
    """The living processes below ``root``, parents first; empty without /proc.

    With ``since``, a tick, those that were started earlier are left out with all below them: another command's.
    """
    children: dict[int, list[int]] = {}
    for pid, parent, started in _processes():
        if started >= since:
            children.setdefault(parent, []).append(pid)
    found, waiting = [], [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.append(child)
            waiting.append(child)
    return found


def signal_tree(root: int, number: signal.Signals, *, with_root: bool, since: int = 0) -> int:
    """Send a signal to all below ``root``, and to it when asked; returns how many there were."""
    pids = [*descendants(root, since=since), *([root] if with_root else [])]
    return sum(_signal(pid, number) for pid in pids)


def kill_tree(root: int, *, since: int = 0) -> int:
    """Kill all below ``root``, until nothing new has been started meanwhile; returns how many there were."""
    count = 0
    for _ in range(_ROUNDS):
        found = signal_tree(root, signal.SIGKILL, with_root=False, since=since)
        count += found
        if not found:
            break
    return count


def kill_whole(root: int, *, since: int = 0) -> None:
    """Kill ``root`` and all below it; it is stopped first, so that it starts nothing after the last look."""
    _signal(root, signal.SIGSTOP)
    for _ in range(_ROUNDS):
        found = signal_tree(root, signal.SIGKILL, with_root=False, since=since)
        fields = _stat(str(root))
        # A process that was in the middle of fork(2) stops only after it.
        if not found and (fields is None or fields[0] != b"R"):
            break
    _signal(root, signal.SIGKILL)


def kill_known(started: Mapping[int, int | None]) -> None:
    """Kill processes, and all below them, that are still those of these start ticks and not others with their pids."""
    for pid, tick in started.items():
        if tick is not None and start_tick(pid) == tick:
            kill_tree(pid)
            _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _processes() -> Iterator[tuple[int, int, int]]:
    """Each living process, its parent and the tick of its start."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdigit():
            fields = _stat(name)
            if fields is not None and fields[0] not in (b"Z", b"X"):
                yield int(name), int(fields[1]), int(fields[19])


def _stat(pid: str) -> list[bytes] | None:
    """The fields of /proc/PID/stat from the third one, the state, on; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # pid (comm) state ppid ...; comm may hold anything, also `)`
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None
