"""Bad input at the command line: one line that names input, cause and next step, and a distinct exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.bases import shared

COMPOSER = str(Path(sys.executable).parent / "composer")


def composer(*arguments: str, store: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMPOSER, *arguments],
        env={**os.environ, "COMPOSER_STORE": str(store), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


CASES = {
    "unknown-scheme": (["build", "ftp:x"], 64, "usage"),
    "missing-rootfs": (["build", "rootfs:/nowhere.tar"], 66, "base_not_found"),
    "missing-layout": (["build", "oci:/nowhere"], 66, "base_not_found"),
    "unknown-platform": (["build", "scratch", "--platform", "amd64"], 64, "usage"),
    "unknown-env": (["build", "scratch", "--env", "nothing"], 78, "bad_spec"),
    "unknown-sandbox": (["down", "nothing"], 84, "sandbox_not_found"),
    "unknown-engine": (["run", "scratch", "--engine", "vmware", "--", "true"], 64, "usage"),
    "missing-channel": (["build", "scratch", "--channel", "file:///nowhere"], 75, "channel_unreachable"),
    "bad-limit": (["run", "scratch", "--memory", "much", "--", "true"], 64, "usage"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_a_distinct_status(case: str, tmp_path: Path) -> None:
    arguments, status, code = CASES[case]
    done = composer(*arguments, store=tmp_path)
    assert done.returncode == status, done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("composer: error: ")
    assert "Traceback" not in done.stderr
    if arguments[0] == "build":
        as_json = composer(*arguments, "--json", store=tmp_path)
        assert json.loads(as_json.stdout)["error"]["code"] == code


def test_base_of_another_architecture_is_refused(tmp_path: Path) -> None:
    other = shared("alpine-3.20.3").replace(os.uname().machine, "aarch64")
    done = composer("build", other, "--platform", "linux/amd64", store=tmp_path)
    assert done.returncode == 67, done.stderr


def test_help_and_usage(tmp_path: Path) -> None:
    assert composer("--help", store=tmp_path).returncode == 0
    assert composer("nothing", store=tmp_path).returncode == 64
