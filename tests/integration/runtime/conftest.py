"""Fixtures of the embedded engine's tests."""

from tests.kit.image import alpine_image

__all__ = ["alpine_image"]
