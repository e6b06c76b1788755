"""Skips that name what is missing; under ``CI=true`` what can be had must be there, and a skip is a failure."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def unavailable(reason: str, *, obtainable: bool = True) -> NoReturn:
    """Skip the test, or fail it under ``CI=true`` when what it lacks could have been had."""
    if obtainable and os.environ.get("CI") == "true":
        pytest.fail(f"must not be skipped in CI: {reason}")
    pytest.skip(reason)
