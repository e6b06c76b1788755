"""Tags are valid whatever the base is called."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.plan.tags import versioned_tag


@given(st.text(max_size=400), st.text("0123456789.", min_size=1, max_size=9).map(lambda text: "0" + text))
def test_versioned_tag_is_valid(base: str, version: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", versioned_tag(version, base))


@pytest.mark.parametrize(
    ("base", "tag"),
    [
        ("alpine:3.20", "1-alpine-3.20"),
        ("registry:5000/a/b:tag@sha256:" + "0" * 64, "1-registry-5000-a-b-tag"),
        ("rootfs:/x/alpine.tar.gz", "1-alpine.tar.gz"),
        ("scratch", "1-scratch"),
    ],
)
def test_names(base: str, tag: str) -> None:
    assert versioned_tag("1", base) == tag


def test_long_names_differ() -> None:
    assert versioned_tag("1", "a" * 200) != versioned_tag("1", "a" * 201)
