"""The client's side of the protocol against the agent's, over a link that can be cut."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent_stub.exchange.call import Answer, Call
from agent_stub.wire.errors import WireError
from agent_stub.wire.header import Header
from agent_stub.wire.limits import Limits
from agent_stub.wire.operations.core import Operation
from agent_stub.wire.operations.session import Output
from agent_stub.wire.schema import entry
from composer.client.connection import Reply
from tests.kit.link import TOKEN, Link


@dataclass(frozen=True, slots=True)
class Text:
    text: str = entry("Any.", default="")


class Desk:
    """Operations for the tests: ``emit`` gives out what is put on the desk until ``done``."""

    def __init__(self) -> None:
        self.runs = 0
        self.call: Call | None = None
        self.done = asyncio.Event()
        self.modes: list[str] = []
        handlers = (
            ("echo", self.echo),
            ("emit", self.emit),
            ("fail", self.fail),
            ("odd", self.odd),
            ("gentle", self.gentle),
        )
        self.operations = {name: (Operation(name, Text, Text), handler) for name, handler in handlers}

    async def echo(self, body: Text, call: Call) -> Answer:
        self.runs += 1
        return Answer({"text": body.text}, *call.raw)

    async def emit(self, _body: Text, call: Call) -> Answer:
        self.runs += 1
        self.call = call
        await self.done.wait()
        return Answer({})

    async def fail(self, body: Text, _call: Call) -> Answer:
        errors: dict[str, Exception] = {
            "wire": WireError("busy", "taken"),
            "os": FileNotFoundError(2, "No such file or directory", "/x"),
            "full": OSError(28, "No space left on device"),
            "odd": OSError(107, "Transport endpoint is not connected"),
        }
        raise errors[body.text]

    async def odd(self, _body: Text, _call: Call) -> Answer:
        return Answer({"text": object()})

    async def gentle(self, _body: Text, call: Call) -> Answer:
        stopped = asyncio.Event()

        def stop(mode: str) -> None:
            self.modes.append(mode)
            stopped.set()

        call.on_cancel(stop)
        await stopped.wait()
        return Answer({"text": "stopped"})

    def put(self, *pieces: bytes) -> None:
        assert self.call is not None
        for piece in pieces:
            self.call.emit("data", {}, piece)


async def joined(desk: Desk, **options: Any) -> Link:
    link = Link(desk.operations, **options)
    await link.up()
    return link


async def test_a_reply() -> None:
    link = await joined(Desk())
    asked = await link.ask("echo", {"text": "hi"})
    assert asked.finals == [Reply({"text": "hi"})]


@pytest.mark.parametrize(
    ("op", "body", "code", "number"),
    [
        ("none", {}, "unknown_operation", None),
        ("echo", {"text": 1}, "invalid", None),
        ("echo", {"other": 1}, "invalid", None),
        ("fail", {"text": "wire"}, "busy", None),
        ("fail", {"text": "os"}, "not_found", 2),
        ("fail", {"text": "full"}, "no_space", 28),
        ("fail", {"text": "odd"}, "io", 107),
    ],
    ids=["unknown", "wrong-type", "unknown-field", "wire-error", "not-found", "disk-full", "other-errno"],
)
async def test_errors(op: str, body: dict[str, Any], code: str, number: int | None) -> None:
    link = await joined(Desk())
    asked = await link.ask(op, body)
    [error] = asked.finals
    assert isinstance(error, WireError)
    assert (error.code, error.errno) == (code, number)


async def test_a_fault_of_a_handler_is_an_error_and_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    link = await joined(Desk())
    [error] = (await link.ask("odd")).finals
    assert isinstance(error, WireError)
    assert error.code == "internal"
    assert "Traceback" in capsys.readouterr().err


async def test_requests_made_while_away_run_after_the_greeting() -> None:
    desk = Desk()
    link = Link(desk.operations)
    asked = await link.ask("echo")
    assert desk.runs == 0
    await link.up()
    assert asked.finals == [Reply({"text": ""})]


@pytest.mark.parametrize("told", [True, False], ids=["agent-told", "agent-finds-out"])
async def test_a_cut_link_loses_nothing_and_runs_nothing_twice(told: bool) -> None:
    desk = Desk()
    link = await joined(desk)
    asked = await link.ask("emit", credit=1000)
    desk.put(b"1", b"2")
    await link.settle()
    desk.put(b"3")  # in flight when the link is cut
    link.down(told=told)
    desk.put(b"4")
    desk.done.set()
    await link.settle()
    assert asked.data == [b"1", b"2"]
    await link.up()
    assert asked.data == [b"1", b"2", b"3", b"4"]
    assert asked.finals == [Reply({})]
    assert (desk.runs, link.server.stats.resumed) == (1, 1)


async def test_what_the_agent_could_not_keep_is_a_gap() -> None:
    desk = Desk()
    link = await joined(desk, limits=replace(Limits(), ring=600))
    asked = await link.ask("emit", credit=10_000)
    link.down()
    desk.put(*[b"%03d" % number * 50 for number in range(10)])
    await link.up()
    names = [event.name for event in asked.events]
    assert names[0] == "gap"
    assert asked.events[0].body == {"first": 1, "last": 10 - (len(names) - 1)}
    assert asked.data[-1] == b"009" * 50


async def test_an_agent_that_was_started_again_runs_nothing_again() -> None:
    desk = Desk()
    link = await joined(desk)
    asked = await link.ask("emit")
    link.down()
    link.boot("boot-2")
    await link.up()
    [error] = asked.finals
    assert isinstance(error, WireError)
    assert error.code == "gone"
    assert desk.runs == 1
    assert (await link.ask("echo")).finals == [Reply({"text": ""})]


async def test_without_credit_events_wait_in_the_agent() -> None:
    desk = Desk()
    link = await joined(desk)
    asked = await link.ask("emit", credit=100)
    desk.put(*[b"x" * 60] * 5)
    await link.settle()
    assert len(asked.events) == 1  # 60 bytes and its header: the credit is overdrawn
    for _ in range(5):
        link.connection.consumed(asked.id, 100)
        await link.settle()
    assert len(asked.events) == 5


async def test_pieces_that_follow_each_other_travel_together() -> None:
    async def write(_body: Text, call: Call) -> Answer:
        for at, data in enumerate((b"a", b"b")):
            call.emit("output", Output(at), data)
        call.emit("output", Output(9), b"hole")
        call.emit("output", Output(13, "stderr"), b"other")
        call.emit("output", Output(18, "stderr"), b"x" * (1 << 16))
        return Answer({})

    link = Link({"write": (Operation("write", Text, Text), write)})
    await link.up()
    asked = await link.ask("write")
    assert asked.data == [b"ab", b"hole", b"other", b"x" * (1 << 16)]
    assert [event.body["offset"] for event in asked.events] == [0, 9, 13, 18]
    assert asked.finals == [Reply({})]


async def test_a_slow_peer_blocks_nobody_and_gets_all_in_the_end() -> None:
    desk = Desk()
    link = await joined(desk)
    asked = await link.ask("emit")
    link.room = 2
    desk.put(*[b"%d" % number for number in range(9)])
    assert link.server.blocked
    desk.done.set()
    await link.settle()
    assert asked.data == [b"%d" % number for number in range(9)]
    assert asked.finals == [Reply({})]
    assert not link.server.blocked


async def test_cancel_ends_the_handler_or_tells_it_how() -> None:
    desk = Desk()
    link = await joined(desk)
    hard, gentle = await link.ask("emit"), await link.ask("gentle")
    link.connection.cancel(hard.id, "int")
    link.connection.cancel(gentle.id, "term")
    await link.settle()
    [error] = hard.finals
    assert isinstance(error, WireError)
    assert error.code == "cancelled"
    assert gentle.finals == [Reply({"text": "stopped"})]
    assert desk.modes == ["term"]


async def test_detach_lets_it_go_on() -> None:
    desk = Desk()
    link = await joined(desk)
    asked = await link.ask("emit")
    link.connection.cancel(asked.id, "detach")
    desk.put(b"1")
    await link.settle()
    assert asked.events == []
    assert not desk.done.is_set()


async def test_a_source_that_can_wait_loses_nothing() -> None:
    async def pour(_body: Text, call: Call) -> Answer:
        for number in range(100):
            call.emit("data", {}, b"%02d" % number * 50)
            await call.drain()
        return Answer({})

    link = Link({"pour": (Operation("pour", Text, Text), pour)}, limits=replace(Limits(), ring=1000))
    await link.up()
    asked = await link.ask("pour", credit=300)
    for _ in range(100):
        link.connection.consumed(asked.id, 300)
        await link.settle()
    assert asked.data == [b"%02d" % number * 50 for number in range(100)]
    assert asked.finals == [Reply({})]


@pytest.mark.parametrize(
    ("client", "agent", "message"),
    [
        (b"another token....", TOKEN, "does not know the token"),
        (None, TOKEN, "asks for a token"),
        (TOKEN, None, "does not know the token"),
    ],
    ids=["wrong", "none", "agent-has-none"],
)
async def test_tokens_that_do_not_match(client: bytes | None, agent: bytes | None, message: str) -> None:
    desk = Desk()
    link = Link(desk.operations, token=client, agent_token=agent)
    asked = await link.ask("echo")
    await link.up()
    assert [message in error.message for error in link.refusals] == [True]
    assert (asked.finals, desk.runs) == ([], 0)


async def test_no_token_on_either_side() -> None:
    link = await joined(Desk(), token=None, agent_token=None)
    assert (await link.ask("echo")).finals == [Reply({"text": ""})]


async def test_too_large_a_request_is_refused_before_it_is_sent() -> None:
    link = await joined(Desk())
    with pytest.raises(WireError, match="limit"):
        await link.ask("echo", {"text": "x" * (17 << 20)})
    assert (await link.ask("echo")).finals == [Reply({"text": ""})]


async def test_an_agent_that_ends_takes_no_new_request() -> None:
    desk = Desk()
    link = await joined(desk)
    running = await link.ask("emit")
    link.server.closing = True
    [error] = (await link.ask("echo")).finals
    assert isinstance(error, WireError)
    assert (error.code, error.retryable) == ("shutting_down", True)
    await link.server.dispatcher.close()
    await link.settle()
    assert [str(final) for final in running.finals] == ["cancelled: the request was cancelled"]


async def test_a_sign_of_life_both_ways() -> None:
    link = await joined(Desk())
    answers: list[str] = []
    link.connection.ping(lambda: answers.append("agent"))
    await link.settle()
    assert answers == ["agent"]
    codec = link.connection._codec
    link.connection.receive(codec.encode(Header(b"p" * 16, "heartbeat"), {}))
    await link.settle()
    assert link.server.stats.refused == 0


async def test_messages_that_no_client_sends() -> None:
    link = await joined(Desk())
    codec = link.connection._codec
    for kind in ("reply", "event", "challenge", "error"):
        link.server.receive(link.sender, codec.encode(Header(b"x" * 16, kind), {}))  # type: ignore[arg-type]
    link.server.receive(link.sender, [b"garbage"])
    link.server.receive(link.sender, codec.encode(Header(b"x" * 16, "cancel"), {}))
    assert (link.server.stats.refused, link.server.stats.dropped) == (5, 1)
