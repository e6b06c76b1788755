"""The states of a request, and what is sent of it."""

from __future__ import annotations

import pytest

from agent_stub.exchange.request import TRANSITIONS, Happening, Request, State
from agent_stub.exchange.ring import Budget, Ring

PEER = b"\0peer"


def gap(request: bytes, first: int, last: int) -> list[bytes]:
    return [request, b"gap %d-%d" % (first, last)]


def request(ring_bytes: int = 1000) -> Request:
    return Request(b"id", "run", Ring(ring_bytes, Budget(1 << 20)), gap)


def taken(subject: Request) -> list[bytes]:
    """The last frames of everything that can be sent now."""
    found = []
    while (frames := subject.next()) is not None:
        found.append(frames[-1])
        subject.advance()
    return found


def test_events_then_the_final_message() -> None:
    subject = request()
    subject.attach(PEER, 0, None)
    subject.ring.append([b"one"])
    assert taken(subject) == [b"one"]
    subject.ring.append([b"two"])
    subject.finish([b"final"])
    assert taken(subject) == [b"two", b"final"]
    assert taken(subject) == []


def test_without_credit_events_wait_and_the_final_message_behind_them() -> None:
    subject = request()
    subject.attach(PEER, 0, 4)
    for text in (b"one", b"two", b"three"):
        subject.ring.append([text])
    subject.finish([b"final"])
    assert taken(subject) == [b"one", b"two"]  # one event may overdraw the credit
    assert subject.waiting == 5
    subject.credit.grant(2)
    assert taken(subject) == []
    subject.credit.grant(1)
    assert taken(subject) == [b"three", b"final"]


def test_nobody_listens_nothing_is_sent_and_all_comes_after_the_return() -> None:
    subject = request()
    subject.attach(PEER, 0, None)
    subject.ring.append([b"one"])
    assert taken(subject) == [b"one"]
    subject.detach()
    subject.ring.append([b"two"])
    subject.finish([b"final"])
    assert taken(subject) == []
    subject.attach(b"\0other", 0, None)  # it never saw the first
    assert taken(subject) == [b"one", b"two", b"final"]
    subject.attach(b"\0other", 1, None)
    assert taken(subject) == [b"two", b"final"]


def test_what_the_ring_dropped_is_told() -> None:
    subject = request(ring_bytes=6)
    subject.attach(PEER, 0, 0)
    for text in (b"aaa", b"bbb", b"ccc", b"ddd"):
        subject.ring.append([text])
    subject.credit.grant(100)
    assert taken(subject) == [b"gap 1-2", b"ccc", b"ddd"]


def test_a_client_that_claims_more_than_there_is_gets_what_follows() -> None:
    subject = request()
    subject.ring.append([b"one"])
    subject.attach(PEER, 99, None)
    subject.ring.append([b"two"])
    assert taken(subject) == [b"two"]


@pytest.mark.parametrize("state", ["running", "cancelling", "done"])
@pytest.mark.parametrize("happening", ["cancel", "finish"])
def test_the_state_table(state: State, happening: Happening) -> None:
    subject = request()
    subject.state = state
    if (state, happening) in TRANSITIONS:
        subject.move(happening)
        assert subject.state == TRANSITIONS[state, happening]
    else:
        with pytest.raises(KeyError):
            subject.move(happening)


def test_a_request_has_one_final_message() -> None:
    subject = request()
    subject.finish([b"final"])
    with pytest.raises(KeyError):
        subject.finish([b"again"])
