"""Engines by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from composer.errors import UsageError
from composer.runtime.oci import OciEngine
from composer.store.store import Store

if TYPE_CHECKING:
    from composer.runtime.docker import DockerEngine

ENGINES = ("oci", "docker")


def open_engine(name: str, store: Store) -> OciEngine | DockerEngine:
    """The engine of that name; raises `UsageError`. Nothing is contacted before its first call."""
    if name == "oci":
        return OciEngine(store)
    if name == "docker":
        from composer.runtime.docker import DockerEngine

        return DockerEngine()
    raise UsageError(f"--engine {name}", "is not an engine", f"use one of {', '.join(ENGINES)}")
