from __future__ import annotations

import pytest

from tools.channel.errors import RecipeError
from tools.channel.pypi import Pin, parse_pins, requirement_file
from tools.channel.recipes import GROUPS

_A, _B = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("text", "pins"),
    [
        pytest.param("# only a comment\n\n", [], id="empty"),
        pytest.param(f"a==1 --hash=sha256:{_A}\n", [Pin("a", "1", (_A,))], id="one line"),
        pytest.param(
            f"a==1 \\\n    --hash=sha256:{_A} \\\n    --hash=sha256:{_B}  # x86_64\n",
            [Pin("a", "1", (_A, _B))],
            id="two architectures",
        ),
    ],
)
def test_parse_pins(text: str, pins: list[Pin]) -> None:
    assert parse_pins(text) == pins


@pytest.mark.parametrize("text", ["a==1\n", "a\n", f"a>=1 --hash=sha256:{_A}\n"])
def test_what_is_not_pinned_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="not pinned"):
        parse_pins(text)


@pytest.mark.parametrize("group", [*GROUPS, "tools"])
def test_committed_pins_can_be_read(group: str) -> None:
    assert parse_pins(requirement_file(group).read_text())
