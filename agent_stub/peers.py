"""Which peers have proved that they know the token.

A peer is the identity that the ROUTER gave to a connection together with that connection's descriptor, so an identity
that somebody else takes over after a disconnect counts for nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from agent_stub.wire.auth import NONCE_BYTES, Auth, Challenge, holds, prove
from agent_stub.wire.errors import WireError

PENDING = 256
BURST = 20
PER_SECOND = 5.0


@dataclass(frozen=True, slots=True)
class Sender:
    """Where a message came from: the ROUTER's identity and the connection's file descriptor."""

    identity: bytes
    connection: int

    @property
    def assigned(self) -> bool:
        """Whether the ROUTER chose the identity (a zero byte and four more), not the peer."""
        return len(self.identity) == 5 and self.identity[0] == 0


class Peers:
    """Admits peers by the exchange of `agent_stub.wire.auth`; without a token everyone is admitted."""

    def __init__(self, token: bytes | None, boot_id: str, most: int, random: Callable[[int], bytes]) -> None:
        self._token = token
        self._boot_id = boot_id
        self._most = most
        self._random = random
        self._pending: OrderedDict[bytes, tuple[int, bytes, bytes]] = OrderedDict()
        self._admitted: OrderedDict[bytes, int] = OrderedDict()

    def admitted(self, sender: Sender) -> bool:
        """Whether requests of the sender are answered."""
        if self._token is None:
            return True
        return self._admitted.get(sender.identity) == sender.connection

    def challenge(self, sender: Sender, nonce: bytes) -> Challenge:
        """Answer a client's first message."""
        if len(nonce) != NONCE_BYTES:
            raise WireError("invalid", f"the nonce is not {NONCE_BYTES} bytes")
        own = self._random(NONCE_BYTES)
        self._admitted.pop(sender.identity, None)
        self._pending[sender.identity] = (sender.connection, nonce, own)
        self._pending.move_to_end(sender.identity)
        if len(self._pending) > PENDING:
            self._pending.popitem(last=False)
        if self._token is None:
            return Challenge(own, self._boot_id, required=False)
        return Challenge(own, self._boot_id, proof=prove(self._token, "agent", (nonce, own), self._boot_id))

    def admit(self, sender: Sender, auth: Auth) -> None:
        """Check a client's second message; raises `WireError` ``unauthenticated``."""
        connection, theirs, own = self._pending.pop(sender.identity, (-1, b"", b""))
        expected = prove(self._token, "client", (theirs, own), self._boot_id) if self._token else auth.proof
        if connection != sender.connection or not holds(auth.proof, expected):
            raise WireError("unauthenticated", "the proof is wrong: another token, or no challenge was asked for")
        self._admitted[sender.identity] = connection
        if len(self._admitted) > self._most:
            self._admitted.popitem(last=False)

    def gone(self, connection: int) -> list[bytes]:
        """Forget a connection that ended; the identities that it had."""
        for identity in [name for name, (descriptor, _, _) in self._pending.items() if descriptor == connection]:
            del self._pending[identity]
        ended = [name for name, descriptor in self._admitted.items() if descriptor == connection]
        for identity in ended:
            del self._admitted[identity]
        return ended


class Patience:
    """How often strangers get an answer: `BURST` at once, then `PER_SECOND`; the right proof never waits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = float(BURST)
        self._since = clock()

    def answer(self) -> bool:
        """Whether to answer one more."""
        now = self._clock()
        self._left = min(float(BURST), self._left + (now - self._since) * PER_SECOND)
        self._since = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
