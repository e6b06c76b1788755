"""A conda channel for tests: made once per machine by tools/channel, again when that tool's source changes.

COMPOSER_TEST_CHANNEL names one to use instead; COMPOSER_TEST_CACHE is where all test caches are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from composer.store.lock import locked
from tests.kit.skip import unavailable

ROOT = Path(__file__).parents[2]


def cache_root() -> Path:
    """Where tests keep what takes long to make."""
    named = os.environ.get("COMPOSER_TEST_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "composer-tests"


def source_digest(*folders: str) -> str:
    """A digest of the Python files below folders of the project, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def keep_newest(folder: Path, count: int = 4) -> None:
    """Delete all but the newest folders of a cache."""
    entries = sorted((p for p in folder.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime, reverse=True)
    for path in entries[count:]:
        shutil.rmtree(path, ignore_errors=True)


def channel_url(groups: Sequence[str] = ()) -> str:
    """The ``file://`` URL of the channel; makes it, which takes up to two minutes, or skips the test."""
    if named := os.environ.get("COMPOSER_TEST_CHANNEL"):
        return named
    folder = cache_root() / "channel"
    made = folder / "-".join([source_digest("tools/channel"), *groups])
    with locked(folder / "lock"):
        if not (made / "noarch" / "repodata.json").is_file():
            partial = made.with_name(made.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)
            chosen = [part for group in groups for part in ("--group", group)]
            done = subprocess.run(
                [sys.executable, "-m", "tools.channel", "--out", str(partial), *chosen],
                cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
                unavailable(f"no channel could be made: {lines[-1]}")
            partial.replace(made)
            keep_newest(folder)
    return made.as_uri()


@pytest.fixture(scope="session")
def channel() -> str:
    """The URL of the local channel with the packages of core."""
    return channel_url()
