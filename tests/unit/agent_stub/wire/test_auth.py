"""The proofs of the token."""

from __future__ import annotations

import pytest

from agent_stub.wire.auth import holds, prove

NONCES = (b"c" * 32, b"a" * 32)
GOOD = prove(b"token", "client", NONCES, "boot")


def test_the_same_inputs_prove_the_same() -> None:
    assert holds(prove(b"token", "client", NONCES, "boot"), GOOD)
    assert GOOD.hex() == "c1d6564b40690c9acbf098fee7329816ee15e2f896de362f861662ac901e2dfc"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(prove(b"Token", "client", NONCES, "boot"), id="token"),
        pytest.param(prove(b"token", "agent", NONCES, "boot"), id="reflected"),
        pytest.param(prove(b"token", "client", NONCES[::-1], "boot"), id="nonces-swapped"),
        pytest.param(prove(b"token", "client", (b"x" * 32, NONCES[1]), "boot"), id="replayed"),
        pytest.param(prove(b"token", "client", NONCES, "boot2"), id="another-boot"),
        pytest.param(b"", id="empty"),
        pytest.param(GOOD[:-1], id="cut"),
    ],
)
def test_anything_else_does_not(other: bytes) -> None:
    assert not holds(other, GOOD)
