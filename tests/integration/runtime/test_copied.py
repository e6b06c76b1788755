"""Where the kernel refuses an overlay (here: on two others already) the layers are copied, and the log says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from composer.store.store import Store

pytestmark = [pytest.mark.root, pytest.mark.slow]

STACK = """
set -e
cd "$1"
mkdir empty u1 w1 m1 u2 w2 m2
mount -t overlay overlay -o lowerdir=empty,upperdir=u1,workdir=w1 m1
mount -t overlay overlay -o lowerdir=m1,upperdir=u2,workdir=w2 m2
shift
exec "$@"
"""
CLIENT = """
import asyncio, json, sys
from pathlib import Path
from composer.client.sandbox import Sandbox
from composer.runtime.engine import SandboxOptions
from composer.runtime.oci import OciEngine
from composer.store.store import Store

async def main():
    root = Path(sys.argv[1])
    root.mkdir()
    (root / "oci").symlink_to(sys.argv[3])
    store = Store.open(root)
    engine = OciEngine(store, (sys.argv[4],))
    running = await engine.start(SandboxOptions(sys.argv[2], "copied"))
    async with Sandbox.connect(running.endpoint, running.token) as box:
        line = "stat -c '%a %u' /bin/busybox /tmp; echo new > /etc/new; readlink /bin/sh"
        found = {"run": (await box.run(line)).output}
    found["log"] = b"".join([piece async for piece in engine.logs("copied")]).decode().count("layers are copied")
    await engine.remove("copied")
    found["left"] = [path.name for path in (root / "sandboxes").iterdir() if path.is_dir()]
    found["shared"] = list(root.glob("unpacked/*/etc/new")) != []
    print(json.dumps(found))

asyncio.run(main())
"""


def test_a_start_without_overlay(program: str, alpine_image: str, core_store: Store) -> None:
    with tempfile.TemporaryDirectory(prefix="oc-copy-", dir="/tmp") as folder:
        client = [sys.executable, "-c", CLIENT, f"{folder}/m2/s", alpine_image, str(core_store.layout.root), program]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", STACK, "sh", folder, *client],
            env={**os.environ, "XDG_RUNTIME_DIR": folder, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True, text=True, check=False, timeout=90,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = {"run": "755 0\n1777 0\n/bin/busybox\n", "log": 1, "left": [], "shared": False}
    assert json.loads(done.stdout) == expected
