from __future__ import annotations

from pathlib import Path

import pytest

from composer.errors import LimitError
from composer.runtime.engine import Limits
from composer.runtime.limits import applicable


def test_none_wanted(tmp_path: Path) -> None:
    assert applicable(Limits(), "bubblewrap", tmp_path) == Limits()


def test_a_controller_of_either_version_is_enough(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "cgroup.controllers").write_text("cpu pids\n")
    wanted = Limits(memory=1 << 26, cpus=0.5, pids=10)
    assert applicable(wanted, "runc", tmp_path) == wanted


@pytest.mark.parametrize("program", ["runc", "bubblewrap"])
def test_missing(program: str, tmp_path: Path) -> None:
    with pytest.raises(LimitError):
        applicable(Limits(pids=10), program, tmp_path)
    assert applicable(Limits(pids=10, best_effort=True), program, tmp_path).pids is None
