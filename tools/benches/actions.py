"""Round trips of actions through the client, and output's rate, in a sandbox of the embedded engine."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Literal

from composer import Sandbox
from composer.client.opening import Opening
from composer.store.store import Store
from tools.bases import bases
from tools.benches import floors
from tools.benches.row import Row, p50, p99, timed, timed_async

OUTPUT = 50_000_000


async def rows() -> AsyncIterator[Row]:
    """The rows of this subject."""
    transports: tuple[Literal["ipc", "tcp"], ...] = ("ipc", "tcp")
    for transport in transports:
        ping = floors.round_trips(transport, 2000)
        shell = floors.round_trips(transport, 2000, "shell")
        spawn = floors.spawn_true(300)
        async with _start(transport) as box:
            greeted = await timed_async(box.hello, 2000)
            ran = await timed_async(lambda: box.run("echo hi"), 2000)
            executed = await timed_async(lambda: box.exec(["/bin/true"]), 500)
            peer = _pexpect_echo(50) if transport == "ipc" else None
            bare = "bare zmq + bare pty"
            yield Row(f"hello, {transport}, p50", p50(greeted), "ms", p50(ping), "bare zmq")
            yield Row(f"run('echo hi'), {transport}, p50", p50(ran), "ms", p50(shell), bare, peer, "pexpect", 1.0)
            yield Row(f"run('echo hi'), {transport}, p99", p99(ran), "ms", p99(shell), bare)
            floor = p50(ping) + p50(spawn)
            yield Row(
                f"exec(['true']), {transport}, p50", p50(executed), "ms", floor, "bare zmq + posix_spawn", goal=1.0
            )
            yield Row(f"exec(['true']), {transport}, p99", p99(executed), "ms", p99(ping) + p99(spawn), "the same, p99")
            if transport == "ipc":
                yield await _output(box)


def _start(transport: Literal["ipc", "tcp"]) -> Opening[Sandbox]:
    base = next(bases(Store.open()))
    return Sandbox.start(base, transport=transport, network="none" if transport == "ipc" else "host")


async def _output(box: Sandbox) -> Row:
    floor = floors.raw_output_rate(OUTPUT)
    count = 0

    def take(data: bytes) -> None:
        nonlocal count
        count += len(data)

    began = time.perf_counter()
    python = "import os; b = b'a' * 65536; [os.write(1, b) for _ in range(763)]"
    await box.run(f'/.oc/bin/python3 -I -c "{python}"', on_output=take)
    rate = count / 1e6 / (time.perf_counter() - began)
    return Row("50 MB of output, ipc", rate, "MB/s", floor, "raw pty", goal=60)


def _pexpect_echo(count: int) -> float:
    """Milliseconds of the same by plain pexpect with its defaults, which is what peers do."""
    import pexpect
    from pexpect import replwrap

    shell = replwrap.bash()
    try:
        return p50(timed(lambda: shell.run_command("echo hi"), count, warm=3))
    except pexpect.ExceptionPexpect:
        return float("nan")
    finally:
        shell.child.close(force=True)
