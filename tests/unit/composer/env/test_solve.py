from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from composer.env import micromamba
from composer.env.solve import Request, Solved, consistent, solve, virtual_packages
from composer.env.spec import EnvironmentSpec
from composer.errors import ChannelError, SpecError, UnsolvableError


def package(name: str, version: str, *depends: str) -> Solved:
    return Solved(name, version, f"file:///c/linux-64/{name}-{version}-h0_0.conda", "ab" * 32, "", depends)


def request(*specs: str) -> Request:
    return Request(specs, ("file:///c",), "linux-64", Path("/nonexistent"), virtual_packages("linux-64", "2.99"))


class Answers:
    """A solver with prepared answers that notes the questions."""

    def __init__(self, *answers: Sequence[Solved]) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def __call__(self, question: Request) -> Sequence[Solved]:
        self.asked.append(question)
        return self.answers[len(self.asked) - 1]


@pytest.mark.parametrize(
    "need", ["__glibc >=2.17,<3.0.a0", "__glibc >=2.28", "__unix", "zlib >=9"], ids=["range", "equal", "unix", "other"]
)
def test_one_question_when_the_glibc_is_new_enough(need: str):
    solver = Answers([package("sysroot_linux-64", "2.28"), package("python", "3.11", need)])
    consistent(solver, request("python"))
    assert len(solver.asked) == 1


def test_a_second_question_with_the_glibc_that_will_be_there():
    old = [package("sysroot_linux-64", "2.28"), package("python", "3.11.9", "__glibc >=2.35,<3.0.a0")]
    new = [package("sysroot_linux-64", "2.28"), package("python", "3.11.2", "__glibc >=2.17")]
    solver = Answers(old, new)
    assert consistent(solver, request("python", "sysroot_linux-64 2.28.*")) == new
    assert solver.asked[1].virtual["__glibc"] == ("2.28", "0")
    assert solver.asked[1].specs[-1] == "sysroot_linux-64 2.28"


def test_an_environment_without_glibc_is_refused():
    with pytest.raises(UnsolvableError, match=r"no glibc of its own.*add sysroot_linux-64"):
        consistent(Answers([package("python", "3.11")]), request("python"))


def test_a_platform_without_environments_is_refused(tmp_path: Path):
    with pytest.raises(SpecError, match="names the platform 'win-64'"):
        solve(EnvironmentSpec("x", ("python",), platforms=("win-64",)), [tmp_path.as_uri()], tmp_path)


def fake_micromamba(folder: Path, answer: object, status: int = 0, stderr: str = "") -> None:
    """A program that records its arguments and variables and prints a transaction as libmamba does."""
    program = folder / "micromamba"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"json.dump([sys.argv, dict(os.environ)], open({str(folder / 'call')!r}, 'w'))\n"
        f"print({json.dumps(answer)!r})\nprint({stderr!r}, file=sys.stderr)\nsys.exit({status})\n"
    )
    program.chmod(0o755)


_LINK = {
    "name": "python", "version": "3.11.2", "build_string": "h0_0", "subdir": "linux-64", "md5": "cd" * 16,
    "url": "file:///c/linux-64/python-3.11.2-h0_0.conda", "sha256": "ab" * 32, "depends": ["__glibc >=2.17"],
}  # fmt: skip


def test_micromamba_is_asked_for_the_target_not_for_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_micromamba(tmp_path, {"success": True, "actions": {"LINK": [_LINK]}})
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = micromamba.ask(request("python 3.11.*"))
    assert found == [Solved("python", "3.11.2", _LINK["url"], "ab" * 32, "cd" * 16, ("__glibc >=2.17",))]
    arguments, variables = json.loads((tmp_path / "call").read_text())
    assert arguments[-3:] == ["--platform", "linux-64", "python 3.11.*"]
    assert "--override-channels" in arguments
    assert variables["CONDA_OVERRIDE_GLIBC"] == "2.99"
    assert variables["CONDA_OVERRIDE_ARCHSPEC"] == "x86_64"


@pytest.mark.parametrize(
    ("answer", "stderr", "error"),
    [
        ({"success": False, "solver_problems": ["nothing provides nope"]}, "", UnsolvableError),
        ({}, "critical Could not resolve host: conda.example", ChannelError),
        ({}, "", UnsolvableError),
    ],
    ids=["unsolvable", "network", "silent"],
)
def test_micromamba_failures_are_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: object, stderr: str, error: type[Exception]
):
    fake_micromamba(tmp_path, answer, 1, stderr)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(error):
        micromamba.ask(request("nope"))
