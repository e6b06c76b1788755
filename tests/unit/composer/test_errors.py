"""The family of errors: distinct codes and statuses, one line each, and the documented table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from composer import errors
from composer.errors import ComposerError, DigestMismatchError

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "exit-statuses.md"


def family(root: type[ComposerError] = ComposerError) -> Iterator[type[ComposerError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from family(child)


def test_codes_and_statuses_are_distinct() -> None:
    members = list(family())
    assert len({member.code for member in members}) == len(members)
    assert len({member.exit_status for member in members}) == len(members)
    assert all(64 <= member.exit_status < 124 for member in members)


def test_the_documented_table_is_the_family() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (yes|no) \| (.+) \|$", DOCUMENT.read_text(), re.MULTILINE)
    documented = {(int(status), code, retry == "yes", text) for status, code, retry, text in rows}
    actual = {(m.exit_status, m.code, m.retryable, (m.__doc__ or "").splitlines()[0]) for m in family()}
    assert documented == actual


def test_an_error_is_one_line_with_input_cause_and_next_step() -> None:
    error = DigestMismatchError("x.conda", "has another sha256", "fetch it again")
    assert str(error) == "x.conda: has another sha256; fetch it again"
    assert error.as_json()["code"] == "digest_mismatch"
