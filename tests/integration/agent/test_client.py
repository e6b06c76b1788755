"""The client's surface against a real agent."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from composer.client import blocking
from composer.client.failure import AnsweredError
from composer.client.results import OutputPiece, RunResult
from composer.client.sandbox import Sandbox
from composer.errors import UsageError
from tests.kit.agent import AgentProcess


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    with AgentProcess(tmp_path_factory.mktemp("c")) as process:
        yield process


async def test_run_keeps_its_shell(agent: AgentProcess) -> None:
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        await box.run("cd /usr; x=1")
        result = await box.run("echo $x; pwd; false")
    assert (result.output, result.exit_code, result.cwd, result.ok) == ("1\n/usr\n", 1, "/usr", False)
    assert result.duration > 0


async def test_output_comes_as_it_is_written(agent: AgentProcess) -> None:
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        pieces: list[bytes] = []
        result = await box.run("printf a; printf b", on_output=pieces.append)
        assert (b"".join(pieces), result.output, result.exit_code) == (b"ab", "", 0)
        items = [item async for item in box.stream("printf c; (exit 4)")]
    assert isinstance(items[-1], RunResult)
    assert items[-1].exit_code == 4
    assert b"".join(item.data for item in items[:-1] if isinstance(item, OutputPiece)) == b"c"


async def test_a_callback_that_fails_ends_the_command(agent: AgentProcess) -> None:
    def fail(_data: bytes) -> None:
        raise ZeroDivisionError

    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        with pytest.raises(ZeroDivisionError):
            await box.run("while :; do echo y; done", on_output=fail)
        assert (await box.run("echo on")).output.endswith("on\n")
        assert 0 < await box.agent.ping() < 1


async def test_much_output_arrives_or_is_counted(agent: AgentProcess) -> None:
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        received = 0

        def take(data: bytes) -> None:
            nonlocal received
            received += len(data)

        result = await box.run("head -c 20000000 /dev/zero", on_output=take)
        assert (result.size, received + result.omitted) == (20_000_000, 20_000_000)
        whole = await box.run("head -c 20000000 /dev/zero", limit=20_000_000)
        assert whole.output_bytes == bytes(20_000_000)


async def test_leaving_a_stream_early_ends_the_command(agent: AgentProcess) -> None:
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        stream = box.stream("while :; do echo y; done")
        async for item in stream:
            assert isinstance(item, OutputPiece)
            break
        await stream.aclose()  # type: ignore[attr-defined]
        assert (await box.run("echo on")).output.endswith("on\n")


async def test_exec(agent: AgentProcess) -> None:
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        result = await box.exec(["sh", "-c", "cat; echo e >&2; exit 3"], stdin=b"in", env={"A": "b"}, cwd="/")
        assert (result.stdout, result.stderr, result.exit_code) == ("in", "e\n", 3)
        pieces: list[tuple[str, bytes]] = []
        await box.exec(["echo", "x"], on_output=lambda name, data: pieces.append((name, data)))
        assert pieces == [("stdout", b"x\n")]
        with pytest.raises(AnsweredError) as caught:
            await box.exec(["/no/such/program"])
    assert caught.value.code == "not_found"


async def test_sessions(agent: AgentProcess) -> None:
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        one, two = await box.open_session("one"), await box.open_session()
        await one.run("v=1")
        await two.run("v=2")
        assert (await one.run("echo $v")).output + (await two.run("echo $v")).output == "1\n2\n"
        with pytest.raises(AnsweredError, match="session_exists"):
            await box.open_session("one")
        await one.close()
        with pytest.raises(AnsweredError, match="no_session"):
            await one.run("true")
        await two.close()


@pytest.mark.parametrize("size", [0, 10, 5 << 20, 9 << 20], ids=["empty", "small", "two-pieces", "three-pieces"])
async def test_files_come_back_as_they_were(agent: AgentProcess, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    path = str(tmp_path / "deep" / "file")
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        await box.files.write(path, data, mode=0o640)
        assert await box.files.read(path) == data
        assert await box.files.read(path, offset=3, length=4) == data[3:7]
        info = await box.files.stat(path)
        assert (info.type, info.size, info.mode) == ("file", size, 0o640)
        await box.files.write(path, b"z" + data)
        assert (await box.files.stat(path)).mode == 0o640
        assert [entry.name for entry in await box.files.list(str(tmp_path / "deep"))] == ["file"]


async def test_file_operations(agent: AgentProcess, tmp_path: Path) -> None:
    root = str(tmp_path)
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        await box.files.mkdir(f"{root}/a/b")
        await box.files.write(f"{root}/a/b/c", "text")
        await box.files.append(f"{root}/a/b/c", " more")
        await box.files.move(f"{root}/a/b/c", f"{root}/a/d")
        assert await box.files.read_text(f"{root}/a/d") == "text more"
        assert not await box.files.exists(f"{root}/a/b/c")
        await box.files.remove(f"{root}/a", recursive=True)
        assert await box.files.list(root) == []
        with pytest.raises(AnsweredError) as caught:
            await box.files.read(f"{root}/none")
        assert (caught.value.code, caught.value.errno) == ("not_found", 2)
        for data in (b"1", b"1" * (5 << 20)):
            await box.files.write(f"{root}/only", b"0")
            with pytest.raises(AnsweredError, match="exists"):
                await box.files.write(f"{root}/only", data, create_only=True)
        assert await box.files.read(f"{root}/only") == b"0"


async def test_names_that_are_not_utf8(agent: AgentProcess, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xfe"
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        await box.files.write(name, b"1")
        assert await box.files.read(os.fsdecode(name)) == b"1"
        result = await box.run(b"cd " + os.fsencode(tmp_path) + b"; mkdir $'\\xf0x'; cd $'\\xf0x'")
    assert os.fsencode(result.cwd).endswith(b"/\xf0x")


async def test_a_body_that_cannot_be_sent(agent: AgentProcess) -> None:
    async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        with pytest.raises(UsageError):
            await box.call("run", {"command": object()})
        with pytest.raises(UsageError):
            await box.run("\ud800")
        assert (await box.run("echo fine")).output == "fine\n"


async def test_an_endpoint_that_is_none() -> None:
    with pytest.raises(UsageError, match="is no endpoint"):
        await Sandbox.connect("nonsense")


def test_without_asyncio(agent: AgentProcess, tmp_path: Path) -> None:
    before = threading.active_count()
    with blocking.Sandbox.connect(agent.endpoints[0], agent.secret) as box:
        assert box.run("echo hi").output == "hi\n"
        assert box.exec(["true"]).ok
        box.files.write(f"{tmp_path}/x", b"data")
        assert box.files.read(f"{tmp_path}/x") == b"data"
        assert [entry.name for entry in box.files.list(str(tmp_path))] == ["x"]
        assert isinstance(list(box.stream("echo a"))[-1], RunResult)
        session = box.open_session()
        assert session.run("echo s").output == "s\n"
        session.close()
        with pytest.raises(AnsweredError):
            box.files.read("/no/such/file")
    assert threading.active_count() == before
