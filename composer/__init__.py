"""Puts a complete agent runtime into any container image: layers made once, appended as manifests only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from composer import version

if TYPE_CHECKING:
    from composer.build import build
    from composer.client.sandbox import Sandbox

__version__ = version.VERSION

__all__ = ["Sandbox", "__version__", "build"]

_HOMES = {"Sandbox": "composer.client.sandbox", "build": "composer.build"}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used (PEP 562): ``import composer`` itself costs nothing."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
