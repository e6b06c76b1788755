"""What the README shows runs: its Python block, and its commands that need no engine."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from composer.store.store import Store
from tests.kit.bases import shared

pytestmark = pytest.mark.root
README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
PLACEHOLDER = "rootfs:alpine-minirootfs.tar.gz"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_python_block(core_store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COMPOSER_STORE", str(core_store.root))
    (block,) = blocks("python")
    source = block.replace(PLACEHOLDER, shared("alpine-3.20.3"))
    code = compile(source, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, Any] = {}
    asyncio.run(eval(code, names))
    assert capsys.readouterr().out.startswith("Linux ")


COMMANDS = [
    line
    for block in blocks("sh")
    for line in block.splitlines()
    if line.startswith("composer ") and "docker-daemon:" not in line
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, core_store: Store) -> None:
    assert COMMANDS
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", command.replace(PLACEHOLDER, shared("alpine-3.20.3"))],
        env={**os.environ, "PATH": path, "COMPOSER_STORE": str(core_store.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
