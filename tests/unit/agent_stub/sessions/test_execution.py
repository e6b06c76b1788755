from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_stub.exchange.call import Answer, CancelMode
from agent_stub.sessions.sessions import Sessions
from agent_stub.wire.errors import WireError
from agent_stub.wire.operations.session import Exec
from tests.kit.call import MemoryCall
from tests.kit.shells import alive, survivors


@asynccontextmanager
async def sessions() -> AsyncIterator[Sessions]:
    made = Sessions()
    try:
        yield made
    finally:
        await made.close_all()


async def execute(argv: list[str], call: MemoryCall | None = None, **fields: Any) -> Answer:
    async with sessions() as made, asyncio.timeout(20):
        return await made.exec(Exec(argv=argv, **fields), call or MemoryCall())


@pytest.mark.parametrize(
    ("argv", "fields", "raw", "code", "signal"),
    [
        (["true"], {}, (b"", b""), 0, None),
        (["sh", "-c", "exit 7"], {}, (b"", b""), 7, None),
        (["sh", "-c", "echo a; echo b >&2"], {}, (b"a\n", b"b\n"), 0, None),
        (["printf", "\\0\\377\\r"], {}, (b"\0\xff\r", b""), 0, None),
        (["sh", "-c", "kill -9 $$"], {}, (b"", b""), None, 9),
        (["pwd"], {"cwd": "/usr"}, (b"/usr\n", b""), 0, None),
        (["sh", "-c", "echo $A"], {"env": {"A": "1 2"}}, (b"1 2\n", b""), 0, None),
        (["cat"], {"stdin": b"x\0y"}, (b"x\0y", b""), 0, None),
        (["cat"], {}, (b"", b""), 0, None),
        (["true"], {"stdin": b"x" * 1_000_000}, (b"", b""), 0, None),
    ],
)
async def test_result(
    argv: list[str], fields: dict[str, Any], raw: tuple[bytes, ...], code: int | None, signal: int | None
) -> None:
    answer = await execute(argv, **fields)
    assert (answer.raw, answer.body.exit_code, answer.body.signal) == (raw, code, signal)


@pytest.mark.parametrize(
    ("argv", "fields", "code"),
    [
        (["no-such-program"], {}, "not_found"),
        (["/no/such/program"], {}, "not_found"),
        (["/etc/passwd"], {}, "permission"),
        (["true"], {"cwd": "/no/such"}, "not_found"),
        (["true"], {"cwd": "/no/such", "timeout": 1.0}, "not_found"),
    ],
)
async def test_what_cannot_be_started_is_an_error(argv: list[str], fields: dict[str, Any], code: str) -> None:
    with pytest.raises(WireError) as caught:
        await execute(argv, **fields)
    assert caught.value.code == code


async def test_stdin_of_any_size_comes_back_whole() -> None:
    data = os.urandom(3_000_000)
    answer = await execute(["cat"], stdin=data, limit=1 << 23)
    assert answer.raw[0] == data


async def test_streams_in_pieces_with_offsets() -> None:
    call = MemoryCall()
    answer = await execute(["sh", "-c", "seq 1 50000; echo bad >&2"], call, stream=True)
    assert answer.raw == ()
    for stream in ("stdout", "stderr"):
        at = 0
        for _, body, raw in call.events:
            if body.stream == stream:
                assert body.offset == at
                at += len(raw[0])
        assert at == getattr(answer.body, stream)


async def test_only_the_three_descriptors_are_inherited() -> None:
    answer = await execute(["ls", "/proc/self/fd"])
    assert answer.raw[0].split() == [b"0", b"1", b"2", b"3"]  # 3 is that of ls


async def test_descriptors_that_the_agent_was_started_with_are_not_inherited() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        answer = await execute(["ls", "/proc/self/fd"])
        assert answer.raw[0].split() == [b"0", b"1", b"2", b"3"]
    finally:
        os.close(reading)
        os.close(writing)


async def test_environment_is_exactly_the_images() -> None:
    answer = await execute(["env", "-0"])
    assert sorted(answer.raw[0].split(b"\0")) == sorted(Path("/proc/self/environ").read_bytes().split(b"\0"))


@pytest.mark.parametrize(
    "script",
    [
        "sleep {0}",
        "trap '' INT TERM; sleep {0}; sleep {0}",
        "setsid sleep {0} & sleep {0}",
        "(setsid sh -c 'trap \"\" INT TERM; sleep {0} & sleep {0}' & ); sleep {0}",
    ],
)
async def test_timeout_leaves_no_survivor(script: str) -> None:
    mark = str(1000 + uuid.uuid4().int % 10**9)
    async with sessions() as made:
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = await made.exec(Exec(argv=["sh", "-c", script.format(mark)], timeout=0.2), MemoryCall())
        assert answer.body.timed_out
        assert loop.time() - began < 3.2
        assert await survivors(mark) == []


@pytest.mark.parametrize(("mode", "signal"), [("int", 2), ("term", 15), ("kill", 9)])
async def test_cancel(mode: CancelMode, signal: int) -> None:
    async with sessions() as made:
        call = MemoryCall()
        script = "echo go; exec sleep 30"
        running = asyncio.create_task(made.exec(Exec(argv=["sh", "-c", script], stream=True), call))
        await call.first_event
        call.cancel(mode)
        async with asyncio.timeout(5):
            assert (await running).body.signal == signal


async def test_a_daemon_that_keeps_stdout_does_not_hold_the_reply() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    answer = await execute(["sh", "-c", "echo a; sleep 5 &"])
    assert answer.raw[0] == b"a\n"
    assert loop.time() - began < 2


async def test_everything_ends_with_the_agent() -> None:
    mark = str(1000 + uuid.uuid4().int % 10**9)
    async with sessions() as made:
        await made.exec(Exec(argv=["sh", "-c", f"setsid sleep {mark} >/dev/null 2>&1 &"]), MemoryCall())
        assert alive(mark)
    assert await survivors(mark) == []
