"""Telling a text that could not be parsed from a command that returned 2."""

from __future__ import annotations

import asyncio
import subprocess

from agent_stub.process.reaper import Reaper


async def parses(shell: str, file: str, reaper: Reaper) -> bool:
    """Whether ``SHELL -n`` accepts the file. Asked only after an exit code of 2, where it costs a fork."""
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    try:
        # It returns as soon as the shell is started; the reaper tells of its end.
        null = subprocess.DEVNULL
        process = subprocess.Popen([shell, "-n", file], env={}, stdin=null, stdout=null, stderr=null)  # noqa: ASYNC220
    except OSError:
        return True
    reaper.watch(process.pid, done.set_result)
    status = await done
    process.returncode = status
    return status == 0
