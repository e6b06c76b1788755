"""One suite over every transport: what holds over ipc holds over TCP."""

from __future__ import annotations

import asyncio
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq
import zmq.asyncio

from agent_stub.wire.header import VERSION
from agent_stub.wire.limits import Limits
from composer.client.agent import Agent
from composer.client.failure import AnsweredError
from composer.client.sandbox import Sandbox
from composer.errors import AgentLostError, AuthenticationError
from tests.kit.agent import AgentProcess


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    with AgentProcess(tmp_path_factory.mktemp("c"), "--bind", "tcp://127.0.0.1:*") as process:
        yield process
    assert "Traceback" not in process.log


@pytest.fixture(params=[0, 1], ids=["ipc", "tcp"])
def endpoint(agent: AgentProcess, request: pytest.FixtureRequest) -> str:
    return agent.endpoints[request.param]


async def test_hello(agent: AgentProcess, endpoint: str) -> None:
    async with Agent.connect(endpoint, agent.secret) as client:
        hello = await client.hello()
    assert (hello.protocol, hello.boot_id, hello.pid) == (VERSION, agent.ready["boot_id"], agent.process.pid)
    assert {"hello", "run", "exec", "file.read", "shutdown"} <= set(hello.operations)


async def test_several_clients_at_once(agent: AgentProcess, endpoint: str) -> None:
    async with Agent.connect(endpoint, agent.secret) as one, Agent.connect(endpoint, agent.secret) as two:
        replies = await asyncio.gather(*[client.hello() for client in (one, two) * 50])
    assert len({reply.boot_id for reply in replies}) == 1


async def test_a_wrong_token_is_refused_and_others_go_on(agent: AgentProcess, endpoint: str) -> None:
    async with Agent.connect(endpoint, agent.secret) as good:
        for token in (b"f" * 64, None):
            with pytest.raises(AuthenticationError):
                await Agent.connect(endpoint, token)
        assert (await good.hello()).protocol == VERSION


async def test_an_unknown_operation(agent: AgentProcess, endpoint: str) -> None:
    async with Agent.connect(endpoint, agent.secret) as client:
        with pytest.raises(AnsweredError) as caught:
            await client.call("nothing", {})
    assert caught.value.code == "unknown_operation"


async def test_a_large_message_each_way(agent: AgentProcess, endpoint: str, tmp_path: Path) -> None:
    data = os.urandom(11 << 20)
    async with Sandbox.connect(endpoint, agent.secret) as box:
        await box.files.write(str(tmp_path / "f"), data)
        assert await box.files.read(str(tmp_path / "f")) == data


class Raw:
    """A bare DEALER: what a foreign or hostile client has."""

    def __init__(self, endpoint: str, identity: bytes | None = None) -> None:
        self.context = zmq.asyncio.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        if identity:
            self.socket.setsockopt(zmq.ROUTING_ID, identity)
        self.socket.connect(endpoint)

    async def __aenter__(self) -> Raw:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.socket.close()
        self.context.term()

    async def send(self, *frames: bytes) -> None:
        await self.socket.send_multipart(list(frames))

    async def answer(self, seconds: float = 5.0) -> tuple[dict[str, Any], dict[str, Any]]:
        async with asyncio.timeout(seconds):
            frames = await self.socket.recv_multipart()
        return msgpack.unpackb(frames[0]), msgpack.unpackb(frames[1])


def header(kind: str = "request", **fields: Any) -> bytes:
    packed: bytes = msgpack.packb({"v": VERSION, "id": b"i" * 16, "t": kind, "op": "hello", **fields})
    return packed


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        pytest.param([header(), b"\x80"], "unauthenticated", id="not-greeted"),
        pytest.param([header(v=99), b"\x80"], "version", id="other-version"),
        pytest.param([header("shout"), b"\x80"], "malformed", id="unknown-type"),
        pytest.param([header("auth"), b"\x80"], "unauthenticated", id="proof-without-challenge"),
        pytest.param([header("auth"), msgpack.packb({"nonce": b"short"})], "invalid", id="short-nonce"),
        pytest.param([header("auth"), msgpack.packb({"proof": b"x" * 32})], "unauthenticated", id="made-up-proof"),
        pytest.param([header(), b"\xc1"], "malformed", id="body-not-msgpack"),
        pytest.param([header(), b"\x80", b"x" * (Limits().frame + 1)], "limit", id="frame-too-long"),
        pytest.param([header(), b"\x80", *[b""] * Limits().frames], "limit", id="too-many-frames"),
    ],
)
async def test_what_is_wrong_gets_an_error(agent: AgentProcess, endpoint: str, frames: list[bytes], code: str) -> None:
    await asyncio.sleep(0.2)  # strangers get five answers a second
    async with Raw(endpoint) as raw:
        await raw.send(*frames)
        head, body = await raw.answer()
    assert (head["id"], head["t"], head["fin"], body["code"]) == (b"i" * 16, "error", True, code)


async def test_garbage_is_dropped(agent: AgentProcess, endpoint: str) -> None:
    async with Raw(endpoint) as raw:
        for frames in ([b""], [b"garbage"], [b"\x80", b"\x80"], [os.urandom(500), os.urandom(500)], [b"x"] * 200):
            await raw.send(*frames)
        with pytest.raises(TimeoutError):
            await raw.answer(0.2)
    async with Agent.connect(endpoint, agent.secret) as client:
        await client.hello()


async def test_a_peer_that_names_itself_is_not_answered(agent: AgentProcess, endpoint: str) -> None:
    async with Raw(endpoint, identity=b"me") as raw:
        await raw.send(header(), b"\x80")
        with pytest.raises(TimeoutError):
            await raw.answer(0.2)


async def test_what_is_not_zmtp_is_disconnected(agent: AgentProcess) -> None:
    host, port = agent.endpoints[1].removeprefix("tcp://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + bytes(100))
    await writer.drain()
    try:
        async with asyncio.timeout(10):
            while await reader.read(100):
                pass
    except ConnectionError:
        pass
    writer.close()
    async with Agent.connect(agent.endpoints[1], agent.secret) as client:
        await client.hello()


async def test_a_client_that_never_reads_costs_little(agent: AgentProcess, endpoint: str) -> None:
    def resident() -> int:
        status = Path(f"/proc/{agent.process.pid}/statm").read_text()
        return int(status.split()[1]) * 4096

    async with Sandbox.connect(endpoint, agent.secret) as slow, Sandbox.connect(endpoint, agent.secret) as other:
        await other.run("true")
        before = resident()
        transport = slow.agent._transport
        assert transport
        slow.agent._loop.remove_reader(transport._socket.fileno())
        session = await other.open_session()
        body = {"command": "head -c 300000000 /dev/zero", "stream": True, "session": session.name}
        request = slow.agent.stream("run", body)
        await asyncio.sleep(1.0)
        began = time.perf_counter()
        assert (await other.run("echo quick")).output == "quick\n"
        assert time.perf_counter() - began < 1.0
        assert resident() - before < 64 << 20
        request.cancel("int")


async def test_cancelling_the_caller_ends_the_command(agent: AgentProcess, endpoint: str) -> None:
    async with Sandbox.connect(endpoint, agent.secret) as box:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await box.run("sleep 60")
        began = time.perf_counter()
        assert (await box.run("echo on")).output == "on\n"
        assert time.perf_counter() - began < 5


async def test_a_reset_connection_comes_back_and_the_command_goes_on(agent: AgentProcess) -> None:
    """The client's TCP connection is reset under it; the request resumes over a new one."""
    async with Proxy(agent.endpoints[1]) as proxy, Sandbox.connect(proxy.endpoint, agent.secret) as box:
        pieces: list[bytes] = []
        running = asyncio.create_task(
            box.run("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done", on_output=pieces.append)
        )
        await asyncio.sleep(0.25)
        proxy.reset()
        result = await running
        assert b"".join(pieces).split() == [b"1", b"2", b"3", b"4", b"5", b"6"]
        assert result.exit_code == 0


async def test_nobody_listens(endpoint: str, tmp_path: Path) -> None:
    for dead in (f"ipc://{tmp_path}/none.sock", "tcp://127.0.0.1:9"):
        began = time.perf_counter()
        with pytest.raises(AgentLostError):
            await Agent.connect(dead, b"x" * 16)
        assert time.perf_counter() - began < 1


class Proxy:
    """A TCP relay whose connections can be reset."""

    def __init__(self, endpoint: str) -> None:
        self._host, port = endpoint.removeprefix("tcp://").split(":")
        self._port = int(port)
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.endpoint = f"tcp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._server.close()
        self.reset()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reset(self) -> None:
        for writer in self._writers:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SOL_SOCKET, SO_LINGER: RST instead of FIN
            writer.close()
        self._writers.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._host, self._port)
        self._writers += [writer, back]
        self._tasks += [asyncio.create_task(_copy(reader, back)), asyncio.create_task(_copy(there, writer))]


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    except ConnectionError:
        pass
    finally:
        target.close()
