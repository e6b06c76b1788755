"""Mutual proof of a shared token with HMAC-SHA256, in three messages under one id.

::

    client -> agent   auth       {nonce}
    agent  -> client  challenge  {nonce, boot_id, required, proof}   proof = HMAC(token, "agent" ...)
    client -> agent   auth       {proof}                             proof = HMAC(token, "client" ...)
    agent  -> client  reply {} or error `unauthenticated`

The token never travels. Each proof names its maker and covers both nonces and the boot id, so none can be reflected or
replayed. Messages are not signed: over a network that is not trusted, put the connection into a tunnel.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Literal

from agent_stub.wire.schema import entry

NONCE_BYTES = 32
PROOF_BYTES = 32


@dataclass(frozen=True, slots=True)
class Auth:
    """The client's first (``nonce``) and second (``proof``) message."""

    nonce: bytes = entry("32 random bytes, in the first message.", default=b"", high=NONCE_BYTES)
    proof: bytes = entry("HMAC-SHA256, in the second message.", default=b"", high=PROOF_BYTES)


@dataclass(frozen=True, slots=True)
class Challenge:
    """The agent's answer to the first message."""

    nonce: bytes = entry("32 random bytes.", low=NONCE_BYTES, high=NONCE_BYTES)
    boot_id: str = entry("As in `hello`.", high=64)
    required: bool = entry("False: the agent has no token, and takes every client.", default=True)
    proof: bytes = entry("HMAC-SHA256 of the agent; empty when it has no token.", default=b"", high=PROOF_BYTES)


def prove(token: bytes, who: Literal["agent", "client"], nonces: tuple[bytes, bytes], boot_id: str) -> bytes:
    """The proof of ``who``; ``nonces`` are the client's and the agent's, of fixed length."""
    text = b"composer auth 1 " + who.encode() + b"\0" + nonces[0] + nonces[1] + boot_id.encode()
    return hmac.digest(token, text, "sha256")


def holds(proof: bytes, expected: bytes) -> bool:
    """Whether a proof is the expected one, in constant time."""
    return hmac.compare_digest(proof, expected)
