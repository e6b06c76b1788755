"""A start by a user who is not root, with bubblewrap: everything in one user namespace, by one id."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from composer.store.store import Store
from tests.kit.leftover import processes_of
from tests.kit.skip import unavailable

pytestmark = [pytest.mark.slow]

CLIENT = """
import asyncio, json, os, sys
from pathlib import Path
from composer.client.sandbox import Sandbox
from composer.errors import ComposerError
from composer.runtime.engine import SandboxOptions
from composer.runtime.oci import OciEngine
from composer.store.store import Store

async def main():
    found = {"uid": os.geteuid()}
    engine = OciEngine(Store.open(Path(sys.argv[1])), ("bubblewrap",))
    running = await engine.start(SandboxOptions(sys.argv[2], "unprivileged"))
    async with Sandbox.connect(running.endpoint, running.token) as box:
        found["run"] = (await box.run("id -u; echo new > /etc/new && cat /etc/new; chroot / true && echo may")).output
    await engine.remove("unprivileged")
    try:
        await engine.start(SandboxOptions(sys.argv[2], "other", user="4242:4242"))
    except ComposerError as error:
        found["other user"] = [type(error).__name__, error.next_step]
    print(json.dumps(found))

asyncio.run(main())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, for the sockets in it."""
    with tempfile.TemporaryDirectory(prefix="oc-user-", dir="/tmp") as name:
        yield Path(name)


def test_a_start_by_another_user(alpine_image: str, core_store: Store, folder: Path) -> None:
    # The namespace's user owns what this user owns, so that it may read the interpreter and the shared layers.
    user = ["unshare", "--user", "--map-user=65534", "--map-group=65534"]
    if subprocess.run([*user, "bwrap", "--bind", "/", "/", "true"], capture_output=True, check=False).returncode != 0:
        unavailable("bubblewrap runs nothing for an unprivileged user here", obtainable=False)
    (folder / "store").mkdir()
    (folder / "store" / "oci").symlink_to(core_store.layout.root)
    line = [*user, sys.executable, "-c", CLIENT, str(folder / "store"), alpine_image]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "uid": 65534,
        "run": "0\nnew\nmay\n",
        "other user": ["EngineError", "run as root, or use --user 0:0"],
    }
    assert [path.name for path in (folder / "store" / "sandboxes").iterdir() if path.is_dir()] == []
    assert list((folder / "composer").iterdir()) == []
    assert processes_of([str(folder)]) == []
