"""kill -9 of a build at random moments: the next build succeeds, and the store verifies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from composer.store.store import Store

pytestmark = pytest.mark.slow

COMPOSER = str(Path(sys.executable).parent / "composer")


def test_twenty_kills_then_a_build(channel: str, tmp_path: Path, core_store: Store) -> None:
    store = Store.open(tmp_path / "store")
    # The archives are fetched once for all tests; what is killed is everything after.
    (store.root / "packages").rmdir()
    (store.root / "packages").symlink_to(core_store.root / "packages")
    environment = {**os.environ, "COMPOSER_STORE": str(store.root), "COMPOSER_CHANNEL": channel}
    command = [COMPOSER, "build", "scratch", "-o", f"oci:{tmp_path / 'out'}"]
    began = time.monotonic()
    subprocess.run(command, env={**environment, "COMPOSER_STORE": str(tmp_path / "timing")}, check=True)
    whole = time.monotonic() - began
    moments = random.Random(20)
    for _ in range(20):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.05, whole))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert store.verify() == []
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert store.verify() == []
    assert Store.open(tmp_path / "timing").layout.references().keys() == store.layout.references().keys()
