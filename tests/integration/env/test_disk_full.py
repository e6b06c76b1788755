"""A store on a disk that becomes full in each phase of a build (a small tmpfs in a mount namespace)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from composer.env import lockfile
from composer.env.lock import Lock
from tests.kit.channel import ROOT

_SCRIPT = """
mount -t tmpfs -o size="$SIZE" tmpfs "$STORE"
"$PYTHON" -m tests.kit.env "$LOCK" "$STORE" 022
echo "left: $(ls "$STORE/tmp")" >&2
"""


@pytest.mark.root
@pytest.mark.parametrize("size", ["8m", "30m", "75m"], ids=["fetch", "extract", "link or edit"])
def test_a_full_disk_is_an_error_that_says_so_and_leaves_no_stage(core_lock: Lock, tmp_path: Path, size: str):
    if os.geteuid() != 0:
        pytest.skip("a mount needs root")
    (tmp_path / "lock.yml").write_text(lockfile.render(core_lock))
    (tmp_path / "store").mkdir()
    variables = {
        "SIZE": size,
        "STORE": str(tmp_path / "store"),
        "PYTHON": sys.executable,
        "LOCK": str(tmp_path / "lock.yml"),
    }
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", _SCRIPT],
        cwd=ROOT, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(tmp_path), **variables},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stderr.strip().splitlines()
    assert lines[-1] == "left:"
    assert lines[-2].startswith("composer.errors.DiskFullError: ")
