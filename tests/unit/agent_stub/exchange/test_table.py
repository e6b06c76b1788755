"""Requests by id: idempotent, bounded, forgotten in the end but never run twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_stub.exchange.request import Request
from agent_stub.exchange.table import Table
from agent_stub.wire.errors import WireError
from agent_stub.wire.limits import Limits

LIMITS = replace(Limits(), requests=3, kept_replies=2, kept_bytes=100, kept_seconds=10.0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(clock: Clock) -> Table:
    return Table(LIMITS, clock, lambda *_: [b"gap"])


def finish(table: Table, name: bytes, size: int = 1) -> Request:
    request, _new = table.find_or_make(name, "run", 0)
    request.finish([b"x" * size])
    table.finished(request)
    return request


def refusal(table: Table, name: bytes, op: str = "run", after: int = 0) -> str:
    with pytest.raises(WireError) as caught:
        table.find_or_make(name, op, after)
    return caught.value.code


def test_the_same_id_is_the_same_request_running_or_done(table: Table) -> None:
    first, new = table.find_or_make(b"a", "run", 0)
    assert new
    assert table.find_or_make(b"a", "run", 5) == (first, False)
    first.finish([b"final"])
    table.finished(first)
    assert table.find_or_make(b"a", "run", 0) == (first, False)
    assert len(table) == 0


def test_an_id_belongs_to_its_operation(table: Table) -> None:
    table.find_or_make(b"a", "run", 0)
    assert refusal(table, b"a", "exec") == "invalid"


def test_open_requests_are_bounded(table: Table) -> None:
    for name in (b"a", b"b", b"c"):
        table.find_or_make(name, "run", 0)
    assert refusal(table, b"d") == "limit"


def test_resuming_what_was_never_here_is_refused(table: Table) -> None:
    assert refusal(table, b"a", after=1) == "gone"


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        pytest.param([1, 1, 1], [False, True, True], id="by-count"),
        pytest.param([60, 60], [False, True], id="by-bytes"),
        pytest.param([200], [True], id="the-newest-whatever-its-size"),
    ],
)
def test_old_answers_are_forgotten_and_do_not_run_again(table: Table, sizes: list[int], kept: list[bool]) -> None:
    names = [b"%d" % number for number in range(len(sizes))]
    for name, size in zip(names, sizes, strict=True):
        finish(table, name, size)
    assert [table.get(name) is not None for name in names] == kept
    for name, there in zip(names, kept, strict=True):
        if not there:
            assert refusal(table, name) == "gone"


def test_answers_are_forgotten_by_age(table: Table, clock: Clock) -> None:
    finish(table, b"a")
    clock.now = 11.0
    finish(table, b"b")
    assert table.get(b"a") is None
    assert table.prune()
    clock.now = 22.0
    assert not table.prune()
    assert refusal(table, b"b") == "gone"
