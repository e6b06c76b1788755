"""Limits bite, and the agent survives what they end."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from composer.errors import AgentLostError, LimitError
from composer.runtime.engine import Limits
from composer.runtime.limits import applicable
from composer.runtime.state import SandboxFolder
from tests.kit.box import PYTHON, Starter, python
from tests.kit.skip import unavailable

pytestmark = [pytest.mark.root, pytest.mark.slow]

HOG = "x = [bytearray(b'x' * (1 << 20)) for _ in range(512)]"
FORKS = """
import json, os, signal
made = []
try:
    while len(made) < 500:
        if not (pid := os.fork()):
            signal.pause()
        made.append(pid)
except BlockingIOError:
    pass
for pid in made:
    os.kill(pid, signal.SIGKILL)
print(json.dumps(len(made)))
"""
BURN = """
import json, time
begin = time.monotonic()
while time.monotonic() - begin < 1.5:
    pass
print(json.dumps(time.process_time() / 1.5))
"""


@pytest.fixture
def limited(starter: Starter) -> Starter:
    if starter.program == "bubblewrap":
        pytest.skip("bubblewrap has no limits")
    return starter


def limits(**wanted: float) -> Limits:
    found = Limits(**wanted)  # type: ignore[arg-type]
    try:
        return applicable(found, "runc")
    except LimitError as error:
        unavailable(str(error), obtainable=False)


async def test_memory(limited: Starter) -> None:
    async with limited.box(limits=limits(memory=128 << 20)) as box:
        ended = await box.exec([PYTHON, "-I", "-c", HOG])
        assert (ended.exit_code, ended.signal) == (None, signal.SIGKILL)
        assert (await box.run("echo alive")).output == "alive\n"


async def test_memory_that_the_agent_does_not_fit_in(limited: Starter) -> None:
    options = limited.options(limits=limits(memory=4 << 20))
    with pytest.raises(AgentLostError):
        await limited.engine.start(options)
    assert options.name not in [row.name for row in await limited.engine.sandboxes()]


async def test_processes(limited: Starter) -> None:
    async with limited.box(limits=limits(pids=40)) as box:
        assert 5 < await python(box, FORKS) < 40
        assert (await box.run("echo alive")).output == "alive\n"


async def test_cpu(limited: Starter) -> None:
    async with limited.box(limits=limits(cpus=0.25)) as box:
        assert await python(box, BURN) < 0.4


async def test_an_agent_that_is_killed(starter: Starter) -> None:
    async with starter.box() as box:
        (name,) = [row.name for row in await starter.engine.sandboxes() if row.endpoint == box.agent.endpoint]
        waiting = asyncio.ensure_future(box.run("sleep 60"))
        await asyncio.sleep(0.3)
        file = "pid" if starter.program == "runc" else "container"
        os.kill(int((SandboxFolder(starter.store, name).path / file).read_text().split()[0]), signal.SIGKILL)
        with pytest.raises(AgentLostError):
            await asyncio.wait_for(waiting, 10)


async def test_bubblewrap_refuses_unless_best_effort(starter: Starter) -> None:
    if starter.program != "bubblewrap":
        pytest.skip("this runtime has limits")
    with pytest.raises(LimitError, match="best-effort"):
        await starter.engine.start(starter.options(limits=Limits(pids=10)))
    async with starter.box(limits=Limits(pids=10, best_effort=True)) as box:
        assert (await box.run("echo alive")).ok
