"""Who is admitted."""

from __future__ import annotations

import os

import pytest

from agent_stub.peers import BURST, PENDING, Patience, Peers, Sender
from agent_stub.wire.auth import Auth, prove
from agent_stub.wire.errors import WireError

TOKEN = b"0123456789abcdef"
NONCE = b"n" * 32


def sender(number: int, connection: int = 7) -> Sender:
    return Sender(b"\0" + number.to_bytes(4, "big"), connection)


def peers(token: bytes | None = TOKEN) -> Peers:
    return Peers(token, "boot", 2, os.urandom)


def enter(subject: Peers, who: Sender, token: bytes = TOKEN) -> None:
    challenge = subject.challenge(who, NONCE)
    subject.admit(who, Auth(proof=prove(token, "client", (NONCE, challenge.nonce), "boot")))


def test_the_right_proof_admits_and_the_agent_proves_itself_too() -> None:
    subject, who = peers(), sender(1)
    assert not subject.admitted(who)
    challenge = subject.challenge(who, NONCE)
    assert challenge.proof == prove(TOKEN, "agent", (NONCE, challenge.nonce), "boot")
    enter(subject, who)
    assert subject.admitted(who)
    assert not subject.admitted(sender(2))


def test_a_wrong_proof_does_not() -> None:
    subject = peers()
    with pytest.raises(WireError, match="unauthenticated"):
        enter(subject, sender(1), b"another token....")
    with pytest.raises(WireError, match="unauthenticated"):
        subject.admit(sender(1), Auth(proof=b"x" * 32))
    assert not subject.admitted(sender(1))


def test_an_identity_counts_only_with_its_connection() -> None:
    subject = peers()
    enter(subject, sender(1))
    assert not subject.admitted(sender(1, connection=8))
    assert subject.gone(7) == [sender(1).identity]
    assert not subject.admitted(sender(1))


def test_a_challenge_is_used_once_and_by_its_connection() -> None:
    subject, who = peers(), sender(1)
    challenge = subject.challenge(who, NONCE)
    proof = Auth(proof=prove(TOKEN, "client", (NONCE, challenge.nonce), "boot"))
    with pytest.raises(WireError):
        subject.admit(sender(1, connection=8), proof)
    with pytest.raises(WireError):
        subject.admit(who, proof)


def test_without_a_token_everyone_is_admitted() -> None:
    subject = peers(None)
    challenge = subject.challenge(sender(1), NONCE)
    assert (challenge.required, challenge.proof) == (False, b"")
    assert subject.admitted(sender(1))


def test_peers_are_bounded() -> None:
    subject = peers()
    for number in range(4):
        enter(subject, sender(number))
    assert [subject.admitted(sender(number)) for number in range(4)] == [False, False, True, True]
    for number in range(PENDING + 10):
        subject.challenge(sender(number), NONCE)
    assert len(subject._pending) == PENDING


@pytest.mark.parametrize(
    ("identity", "assigned"),
    [(b"\0abcd", True), (b"me", False), (b"\0abc", False), (b"xabcd", False)],
    ids=["router", "own-name", "short", "no-zero"],
)
def test_only_identities_of_the_router_count(identity: bytes, assigned: bool) -> None:
    assert Sender(identity, 1).assigned == assigned


def test_strangers_get_few_answers() -> None:
    now = [0.0]
    patience = Patience(lambda: now[0])
    assert [patience.answer() for _ in range(BURST + 1)] == [True] * BURST + [False]
    now[0] = 1.0
    assert [patience.answer() for _ in range(6)] == [True] * 5 + [False]
