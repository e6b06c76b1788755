"""How long a sandbox takes to answer, beside the bare program that starts its container."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator

from composer import Sandbox
from tools.benches.row import Row, p50, timed

BASE = "scratch"


async def rows() -> AsyncIterator[Row]:
    """The rows of this subject."""
    samples, stops = [], []
    async with Sandbox.start(BASE):
        pass  # layers are unpacked by the first start
    for _ in range(10):
        began = time.perf_counter()
        box = await Sandbox.start(BASE)
        await box.hello()
        samples.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        await box.close()
        stops.append((time.perf_counter() - began) * 1000)
    floor = _bubblewrap()
    yield Row("start -> hello, p50", p50(samples), "ms", floor, "bwrap + import zmq, msgpack", goal=150)
    yield Row("stop, p50", p50(stops), "ms")


def _bubblewrap() -> float | None:
    """Milliseconds of a bare bubblewrap in which this machine's Python imports what the agent imports."""
    if shutil.which("bwrap") is None:
        return None
    command = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid"]
    python = [sys.executable, "-I", "-c", "import asyncio, zmq, msgpack"]
    return p50(timed(lambda: subprocess.run([*command, *python], check=False, capture_output=True), 10, warm=2))
