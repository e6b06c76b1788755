"""Fixtures of the embedded engine's tests."""

from tests.kit.box import program, starter
from tests.kit.image import alpine_image
from tests.kit.sandboxes import sandbox_store

__all__ = ["alpine_image", "program", "sandbox_store", "starter"]
