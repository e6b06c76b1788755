"""A started sandbox with a client, for tests of what holds inside."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from composer.client.sandbox import Sandbox
from composer.runtime.engine import SandboxOptions
from composer.runtime.oci import OciEngine
from composer.runtime.probe import run_probe
from composer.store.store import Store
from tests.kit.skip import unavailable

_COUNTER = itertools.count()
PYTHON = "/.oc/bin/python3"


@dataclass(frozen=True)
class Starter:
    """Starts sandboxes of one image with one runtime."""

    store: Store
    program: str
    image: str

    @property
    def engine(self) -> OciEngine:
        """An engine that uses this runtime only."""
        return OciEngine(self.store, (self.program,))

    def options(self, **more: Any) -> SandboxOptions:
        """Options with a name that no other test has."""
        return SandboxOptions(self.image, f"t{os.getpid()}-{next(_COUNTER)}", **more)

    @asynccontextmanager
    async def box(self, **more: Any) -> AsyncIterator[Sandbox]:
        """A started sandbox, removed at the end."""
        engine, options = self.engine, self.options(**more)
        running = await engine.start(options)
        try:
            async with Sandbox.connect(running.endpoint, running.token) as box:
                yield box
        finally:
            await engine.remove(options.name)


async def python(box: Sandbox, code: str) -> Any:
    """Run ``code`` with the runtime's Python in the sandbox; what it printed, as JSON."""
    result = await box.exec([PYTHON, "-I", "-c", code])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(params=["runc", "bubblewrap"])
def program(request: pytest.FixtureRequest) -> str:
    """A runtime that works here."""
    if (reason := run_probe(request.param)) is not None:
        unavailable(f"{request.param} runs no container here: {reason}", obtainable=False)
    return str(request.param)


@pytest.fixture
def starter(program: str, alpine_image: str, sandbox_store: Store) -> Starter:
    """Sandboxes of a composed Alpine."""
    return Starter(sandbox_store, program, alpine_image)
