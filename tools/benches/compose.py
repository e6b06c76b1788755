"""What composing costs: warm builds, the env from nothing, sizes of layers."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from composer.build import BuildRequest, build
from composer.store.store import Store
from tools.benches.row import Row, p50, timed

BASE = "scratch"
COMMAND = str(Path(sys.executable).parent / "composer")


async def rows() -> AsyncIterator[Row]:
    """The rows of this subject."""
    store = Store.open()
    result = await asyncio.to_thread(build, BuildRequest(BASE), store)
    core = sum(layer.descriptor.size for layer in result.runtime.all) / 1e6
    unpacked = sum(layer.unpacked_size for layer in result.runtime.all) / 1e6
    yield Row("core layers, gzip", core, "MB", unpacked, "unpacked", goal=22)
    agent = result.runtime.agent.descriptor.size / 1e6
    yield Row("agent layer, gzip", agent, "MB", goal=1)
    warm = timed(lambda: build(BuildRequest(BASE), store), 20, warm=3)
    yield Row("warm build, in process, p50", p50(warm), "ms", goal=300)
    floor = timed(lambda: subprocess.run([sys.executable, "-c", "import typer"], check=True), 10, warm=1)
    command = timed(lambda: subprocess.run([COMMAND, "build", BASE], check=True, capture_output=True), 10, warm=1)
    yield Row("warm `composer build`, p50", p50(command), "ms", p50(floor), "python + typer", goal=300)
    yield await asyncio.to_thread(_cold, store)


def _cold(warm: Store) -> Row:
    """The env from cached packages to stored layers, beside gzip of the same bytes on one core."""
    with tempfile.TemporaryDirectory(dir=warm.root) as folder:
        store = Store.open(Path(folder))
        (store.root / "packages").rmdir() if (store.root / "packages").exists() else None
        (store.root / "packages").symlink_to(warm.root / "packages")
        began = time.perf_counter()
        result = build(BuildRequest(BASE), store)
        cold = time.perf_counter() - began
        tars = [_gunzip(store, layer.descriptor.digest) for layer in result.runtime.env]
    began = time.perf_counter()
    for tar in tars:
        gzip.compress(tar, 9)
    return Row("env from cached packages", cold, "s", time.perf_counter() - began, "gzip -9 of its bytes")


def _gunzip(store: Store, digest: object) -> bytes:
    with store.blobs.open(digest) as file:  # type: ignore[arg-type]
        return gzip.decompress(file.read())
