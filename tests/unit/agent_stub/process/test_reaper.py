from __future__ import annotations

import asyncio
import os
import signal

import pytest

from agent_stub.process.reaper import Reaper, exit_of


def _start(script: str) -> int:
    return os.posix_spawn("/bin/sh", ["sh", "-c", script], {})


@pytest.mark.parametrize(
    ("script", "expected"),
    [("exit 0", (0, None)), ("exit 255", (255, None)), ("kill -9 $$", (None, 9)), ("kill -15 $$", (None, 15))],
)
async def test_exit(script: str, expected: tuple[int | None, int | None]) -> None:
    reaper = Reaper()
    try:
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        reaper.watch(_start(script), ended.set_result)
        assert exit_of(await ended) == expected
    finally:
        reaper.close()


async def test_strangers_are_reaped_and_own_children_keep_their_status() -> None:
    reaper = Reaper()
    try:
        loop = asyncio.get_running_loop()
        strangers = [_start(f"exit {n}") for n in range(5)]
        futures = []
        for code in range(20):
            future: asyncio.Future[int] = loop.create_future()
            reaper.watch(_start(f"exit {code}"), future.set_result)
            futures.append(future)
        statuses = await asyncio.gather(*futures)
        assert [exit_of(status)[0] for status in statuses] == list(range(20))
        last: asyncio.Future[int] = loop.create_future()
        reaper.watch(_start("sleep 0.2"), last.set_result)
        await last
        for pid in strangers:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
    finally:
        reaper.close()


async def test_closing_gives_the_signal_back() -> None:
    Reaper().close()
    assert signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
