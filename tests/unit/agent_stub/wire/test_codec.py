"""Frames to messages and back, and what is refused."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_stub.wire.codec import Codec, FrameError
from agent_stub.wire.header import VERSION, Header
from agent_stub.wire.limits import Limits

ID = bytes(range(16))
SMALL = Limits(frame=100, frames=4, message=150, depth=3, items=5)

plain = (
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.binary(max_size=50) | st.text(max_size=20)
)
bodies = st.dictionaries(st.text(max_size=9), plain | st.lists(plain, max_size=4), max_size=5)


def header(**fields: Any) -> bytes:
    packed: bytes = msgpack.packb({"v": VERSION, "id": ID, "t": "request", **fields})
    return packed


@given(body=bodies, raw=st.lists(st.binary(max_size=30), max_size=3), seq=st.integers(0, (1 << 63) - 1))
def test_a_message_comes_back_as_it_was(body: dict[str, Any], raw: list[bytes], seq: int) -> None:
    sent = Header(ID, "request", "run", seq, credit=seq)
    message = Codec().decode(Codec().encode(sent, body, raw))
    assert (message.header, message.body, list(message.raw)) == (sent, body, raw)


@given(st.lists(st.binary(max_size=80), max_size=4))
def test_garbage_is_refused_and_nothing_else(frames: list[bytes]) -> None:
    with pytest.raises(FrameError):
        Codec().decode(frames)


@given(st.binary(max_size=60))
def test_a_bad_body_still_tells_the_request(body: bytes) -> None:
    codec = Codec()
    try:
        assert isinstance(codec.decode([header(), body]).body, dict)
    except FrameError:
        with pytest.raises(FrameError) as caught:
            codec.decode([header(), body])
        assert caught.value.id == ID


def test_names_that_are_not_utf8_keep_their_bytes() -> None:
    name = b"a\xff\xfeb".decode(errors="surrogateescape")
    frames = Codec().encode(Header(ID, "request"), {"path": name})
    assert b"a\xff\xfeb" in frames[1]
    assert Codec().decode(frames).body == {"path": name}


@pytest.mark.parametrize(
    ("frames", "code", "known"),
    [
        pytest.param([], "malformed", False, id="nothing"),
        pytest.param([header()], "malformed", False, id="no-body"),
        pytest.param([b"\xc1", b"\x80"], "malformed", False, id="header-not-msgpack"),
        pytest.param([b"\x90", b"\x80"], "malformed", False, id="header-a-list"),
        pytest.param([header(op="x" * 2000), b"\x80"], "malformed", False, id="header-too-long"),
        pytest.param([header(id=b"short"), b"\x80"], "malformed", False, id="short-id"),
        pytest.param([header(v=2), b"\x80"], "version", True, id="other-version"),
        pytest.param([header(t="shout"), b"\x80"], "malformed", True, id="unknown-type"),
        pytest.param([header(seq=-1), b"\x80"], "malformed", True, id="negative-seq"),
        pytest.param([header(cr=True), b"\x80"], "malformed", True, id="credit-a-bool"),
        pytest.param([header(), b"\x90"], "malformed", True, id="body-a-list"),
        pytest.param([header(), b"\x80\x80"], "malformed", True, id="trailing-bytes"),
        pytest.param([header(), msgpack.packb({"a": [[[[1]]]]})], "malformed", True, id="too-deep"),
        pytest.param([header(), b"\x81\xa1a" + b"\x91" * 90], "malformed", True, id="truncated-nesting"),
        pytest.param([header(), msgpack.packb({"a": [0] * 6})], "malformed", True, id="long-list"),
        pytest.param([header(), msgpack.packb({"a": msgpack.ExtType(1, b"x")})], "malformed", True, id="extension"),
        pytest.param([header(), msgpack.packb({1: 2})], "malformed", True, id="key-not-a-string"),
        pytest.param([header(), b"\x80", b"x" * 101], "limit", True, id="frame-too-long"),
        pytest.param([header(), b"\x80", b"", b"", b""], "limit", True, id="too-many-frames"),
        pytest.param([header(), b"\x80", b"x" * 80, b"x" * 80], "limit", True, id="message-too-long"),
    ],
)
def test_what_is_refused(frames: list[bytes], code: str, known: bool) -> None:
    with pytest.raises(FrameError) as caught:
        Codec(SMALL).decode(frames)
    assert caught.value.code == code
    assert caught.value.id == (ID if known else None)


def test_golden_bytes_of_a_header() -> None:
    sent = Codec().encode(Header(ID, "event", "output", 3, credit=9, final=True), {})
    assert sent[0].hex() == (
        "87a17601a26964c410" + ID.hex() + "a174a56576656e74a26f70a66f7574707574a373657103a366696ec3a2637209"
    )
