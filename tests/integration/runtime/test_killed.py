"""Nothing stays of a sandbox whose client or shim was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from composer.runtime.engine import SandboxOptions
from composer.runtime.oci import OciEngine
from composer.runtime.state import SandboxFolder, locked_existing
from composer.store.store import Store
from tests.kit.leftover import processes_of

pytestmark = [pytest.mark.root, pytest.mark.slow]

CLIENT = """
import asyncio, sys
from pathlib import Path
from composer.runtime.engine import SandboxOptions
from composer.runtime.oci import OciEngine
from composer.store.store import Store

async def main():
    engine = OciEngine(Store.open(Path(sys.argv[1])), (sys.argv[3],))
    await engine.start(SandboxOptions(sys.argv[2], "oc-killed"))
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: signal.Signals(number).name)
def test_an_owned_sandbox_ends_with_its_client(
    program: str, number: int, alpine_image: str, sandbox_store: Store
) -> None:
    line = [sys.executable, "-c", CLIENT, str(sandbox_store.root), alpine_image, program]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"started\n"
        folder = SandboxFolder(sandbox_store, "oc-killed")
        assert folder.alive()
        with open(folder.path / "lock", "rb") as lock:  # noqa: PTH123
            client.send_signal(number)
            client.wait()
            with locked_existing(Path(f"/proc/self/fd/{lock.fileno()}")):
                pass  # the shim let go of it, its last act
    assert not folder.path.exists()
    assert not folder.control.exists()
    assert processes_of([folder.control.name]) == []


@pytest.mark.parametrize("user", ["0", "4242:4242"])
async def test_a_killed_shim(program: str, user: str, alpine_image: str, sandbox_store: Store) -> None:
    engine = OciEngine(sandbox_store, (program,))
    await engine.start(SandboxOptions(alpine_image, "oc-shim", owned=False, user=user))
    folder = SandboxFolder(sandbox_store, "oc-shim")
    os.kill(int((folder.path / "shim.pid").read_text()), signal.SIGKILL)
    with locked_existing(folder.path / "lock"):
        pass
    (row,) = [row for row in await engine.sandboxes() if row.name == "oc-shim"]
    assert row.state == "dead"
    await engine.remove("oc-shim")
    assert not folder.path.exists()
    assert not folder.control.exists()
    assert processes_of([folder.control.name]) == []
    assert not list(Path("/sys/fs/cgroup").glob(f"*/composer/oc-shim-{folder.control.name}"))
