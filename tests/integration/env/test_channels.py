"""Solving with py-rattler: the local channel, and channels that do not answer."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import replace
from pathlib import Path

import pytest

from composer.env import builtin, lockfile
from composer.env.lock import Lock
from composer.env.solve import solve
from composer.errors import ChannelError, SpecError, UnsolvableError
from composer.oci.platform import Platform
from tests.kit.skip import unavailable

CORE = replace(builtin.load("core"), platforms=("linux-64",))


def test_the_lock_of_core_is_the_same_each_time(channel: str, core_lock: Lock, tmp_path: Path):
    again = solve(CORE, [channel], tmp_path)
    assert lockfile.render(again) == lockfile.render(solve(CORE, [channel], tmp_path))
    assert again.digest(Platform("linux", "amd64")) == core_lock.digest(Platform("linux", "amd64"))
    again.check(CORE, Platform("linux", "amd64"))
    assert set(CORE.names) <= {package.name for package in again.packages}


@pytest.mark.parametrize(
    "channel",
    ["https://nonexistent.invalid/chan", "http://127.0.0.1:1/chan", "file:///nonexistent/chan"],
    ids=["unknown host", "refused", "no folder"],
)
def test_an_unreachable_channel_says_so_in_one_line_and_quickly(channel: str, tmp_path: Path):
    began = time.monotonic()
    with pytest.raises(ChannelError) as caught:
        solve(CORE, [channel], tmp_path)
    assert time.monotonic() - began < 20
    assert "\n" not in str(caught.value)
    assert caught.value.input_name == channel
    assert "python -m tools.channel" in caught.value.next_step


def test_a_package_that_is_nowhere(channel: str, tmp_path: Path):
    spec = replace(CORE, dependencies=(*CORE.dependencies, "nonesuch 1.*"))
    with pytest.raises(UnsolvableError, match="nonesuch"):
        solve(spec, [channel], tmp_path)


def test_a_match_spec_that_is_none(channel: str, tmp_path: Path):
    with pytest.raises(SpecError, match="write match specs like"):
        solve(replace(CORE, dependencies=("python ===",)), [channel], tmp_path)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")  # of its own parts
def test_conda_lock_reads_our_lock(core_lock: Lock, tmp_path: Path):
    """The oracle of format 1 is conda-lock's own model (the extra ``lock``)."""
    if importlib.util.find_spec("conda_lock") is None:
        unavailable("the extra `lock` is not installed")
    from conda_lock.lockfile import parse_conda_lock_file

    path = tmp_path / "conda-lock.yml"
    path.write_text(lockfile.render(core_lock))
    parsed = parse_conda_lock_file(path)
    assert {(p.name, p.version, p.hash.sha256) for p in parsed.package} == {
        (p.name, p.version, p.sha256) for p in core_lock.packages
    }
