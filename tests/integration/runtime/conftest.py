"""Fixtures of the embedded engine's tests."""

from tests.kit.image import alpine_image
from tests.kit.sandboxes import sandbox_store

__all__ = ["alpine_image", "sandbox_store"]
