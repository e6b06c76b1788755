"""Composed images on disk, for tests that mount them without an engine."""

from __future__ import annotations

from pathlib import Path

from composer.build import BuildRequest, build
from composer.runtime.unpack import unpacked
from composer.store.store import Store


def lower_directories(reference: str, store: Store) -> list[Path]:
    """The unpacked layers of ``reference`` with the core env, topmost first, as overlay mounts them."""
    plan = build(BuildRequest(reference), store).plan
    return [unpacked(store, blob.descriptor, blob.diff_id) for blob in reversed(plan.layers)]
