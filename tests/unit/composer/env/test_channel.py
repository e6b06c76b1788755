from __future__ import annotations

from pathlib import Path

import pytest

from composer.env.channel import check, choose, redacted
from composer.env.spec import EnvironmentSpec
from composer.errors import ChannelError


@pytest.mark.parametrize(
    ("options", "variable", "spec", "expected"),
    [
        pytest.param(["https://o/"], "https://v", ["s"], ("https://o",), id="option"),
        pytest.param([], "https://v, b ,", ["s"], ("https://v", "b"), id="variable"),
        pytest.param([], "", ["s"], ("s",), id="spec"),
        pytest.param([], "", [], ("conda-forge",), id="default"),
        pytest.param(["/a/b"], "", [], ("file:///a/b",), id="folder"),
    ],
)
def test_choose(options: list[str], variable: str, spec: list[str], expected: tuple[str, ...]):
    asked = EnvironmentSpec("x", ("python",), tuple(spec))
    assert choose(asked, options, {"COMPOSER_CHANNEL": variable}) == expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:pw@host/t/tk-123/chan?x=1", "https://host/t/***/chan"),
        ("conda-forge", "conda-forge"),
        ("file:///a", "file:///a"),
    ],
)
def test_redacted_hides_credentials(url: str, shown: str):
    assert redacted(url) == shown


def test_a_folder_without_an_index_is_an_error_that_says_what_to_do(tmp_path: Path):
    with pytest.raises(ChannelError, match=r"no linux-64/repodata.json.*python -m tools.channel.*--channel file://"):
        check(tmp_path.as_uri(), "linux-64")
