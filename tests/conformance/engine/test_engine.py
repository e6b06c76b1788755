from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from composer.errors import LimitError, SandboxNotFoundError, UsageError
from composer.runtime.engine import Limits
from tests.conformance.engine.conftest import Subject
from tests.kit.leftover import processes_of

pytestmark = [pytest.mark.root, pytest.mark.docker, pytest.mark.slow]


def _connects(endpoint: str) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(endpoint.removeprefix("ipc://"))
    return True


@pytest.mark.parametrize(
    "more",
    [{}, {"user": "4242:4242"}, {"user": "nobody"}, {"read_only": True}, {"owned": False}],
    ids=["root", "uid", "name", "read-only", "detached"],
)
async def test_a_life(subject: Subject, more: dict[str, object]) -> None:
    running = await subject.engine.start(subject.options("oc-life", **more))
    try:
        assert _connects(running.endpoint)
        assert await subject.engine.connect("oc-life") == running
        (row,) = [row for row in await subject.engine.sandboxes() if row.name == "oc-life"]
        assert (row.state, row.endpoint) == ("running", running.endpoint)
    finally:
        await subject.engine.remove("oc-life")
    assert not Path(running.endpoint.removeprefix("ipc://")).parent.exists()
    with pytest.raises(SandboxNotFoundError):
        await subject.engine.connect("oc-life")
    assert "oc-life" not in [row.name for row in await subject.engine.sandboxes()]


async def test_followed_logs_end_with_the_sandbox(subject: Subject) -> None:
    await subject.engine.start(subject.options("oc-logs"))

    async def read() -> bytes:
        return b"".join([piece async for piece in subject.engine.logs("oc-logs", follow=True)])

    task = asyncio.ensure_future(read())
    await asyncio.sleep(0.1)
    assert not task.done()
    await subject.engine.remove("oc-logs")
    assert b'"ready"' in await asyncio.wait_for(task, 5)


async def test_the_log_gets_the_agents_line(subject: Subject) -> None:
    await subject.engine.start(subject.options("oc-log"))
    try:
        # runc hands the line on by a pipe of its own, so it may be a moment later than the word that all is ready.
        async with asyncio.timeout(5):
            read = b""
            async for piece in subject.engine.logs("oc-log", follow=True):
                read += piece
                if b'"ready"' in read:
                    break
    finally:
        await subject.engine.remove("oc-log")


async def test_an_unknown_user(subject: Subject) -> None:
    with pytest.raises(UsageError):
        await subject.engine.start(subject.options("oc-user", user="nosuch"))
    assert "oc-user" not in [row.name for row in await subject.engine.sandboxes()]


async def test_no_such_sandbox(subject: Subject) -> None:
    for action in (subject.engine.connect, subject.engine.remove):
        with pytest.raises(SandboxNotFoundError):
            await action("oc-none")


@pytest.mark.parametrize("milliseconds", [5, 30, 60, 90, 120, 200])
async def test_a_cancelled_start_leaves_nothing(subject: Subject, milliseconds: int, private_controls: Path) -> None:
    task = asyncio.ensure_future(subject.engine.start(subject.options("oc-cancel", owned=milliseconds % 20 == 0)))
    await asyncio.wait([task], timeout=milliseconds / 1000)
    task.cancel()
    try:
        await task
        await subject.engine.remove("oc-cancel")
    except asyncio.CancelledError:
        pass
    assert "oc-cancel" not in [row.name for row in await subject.engine.sandboxes()]
    assert processes_of(["/sandboxes/oc-cancel"]) == []
    assert list(private_controls.glob("composer/*")) == []


async def test_limits_are_applied_or_refused(subject: Subject) -> None:
    wanted = Limits(memory=128 << 20, cpus=0.5, pids=64)
    try:
        await subject.engine.start(subject.options("oc-limits", limits=wanted))
    except LimitError:
        best = Limits(wanted.memory, wanted.cpus, wanted.pids, best_effort=True)
        await subject.engine.start(subject.options("oc-limits", limits=best))
    await subject.engine.remove("oc-limits")
