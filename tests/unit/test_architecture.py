"""The walls of the project: who may import whom, and how long a file may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("composer", "agent_stub", "plugins", "tools")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PURE = {"composer/plan": {"os", "socket", "pathlib", "time", "datetime", "subprocess", "tempfile", "random"}}
LATE = {"rattler", "docker", "zmq", "grpc", "playwright", "rich"}
LATE_ITSELF = {"composer/env/rattler_solver.py", "composer/client/transport.py", "composer/client/agent.py"}
LONGEST = 300


def imports(path: Path, *, top_level: bool = False) -> Iterator[str]:
    """The modules that a file imports; those for types alone are left out."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level else list(ast.walk(tree))
    typing_only = {id(n) for node in ast.walk(tree) if _is_typing_block(node) for n in ast.walk(node)}
    for node in nodes:
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _is_typing_block(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_are_short_and_names_are_nouns(path: Path) -> None:
    assert path.read_text().count("\n") <= LONGEST
    assert path.stem not in {"utils", "helpers", "common", "misc", "manager"}


@pytest.mark.parametrize("path", [p for p in SOURCES if name_of(p).startswith(("agent_stub", "plugins"))], ids=name_of)
def test_the_agent_never_imports_composer(path: Path) -> None:
    allowed = {"agent_stub", "plugins", "zmq", "msgpack", "pexpect", "ptyprocess"}
    for module in imports(path):
        top = module.split(".")[0]
        assert top in allowed or top in __import__("sys").stdlib_module_names, module


@pytest.mark.parametrize("path", [p for p in SOURCES if name_of(p).startswith("composer")], ids=name_of)
def test_composer_imports_only_the_wire_of_the_agent(path: Path) -> None:
    for module in imports(path):
        assert not module.startswith("agent_stub") or module.startswith("agent_stub.wire"), module


@pytest.mark.parametrize("path", [p for p in SOURCES if name_of(p).startswith("composer")], ids=name_of)
def test_heavy_packages_are_imported_late(path: Path) -> None:
    found = {module.split(".")[0] for module in imports(path, top_level=True)} & LATE
    assert found == set() or name_of(path) in LATE_ITSELF


@pytest.mark.parametrize("path", [p for p in SOURCES if name_of(p).startswith("composer/plan")], ids=name_of)
def test_planning_is_pure(path: Path) -> None:
    forbidden = PURE["composer/plan"]
    assert {module.split(".")[0] for module in imports(path)} & forbidden == set()
