"""A composed image for tests of engines: an Alpine with the core environment and the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pytest

from composer.bases.open import open_base
from composer.build import BuildRequest, runtime_layers
from composer.env.lock import Lock
from composer.oci.platform import Platform
from composer.plan.append import plan_append
from composer.plan.values import Options, PlannedBlob
from composer.progress import silent
from composer.sinks.open import open_sink
from composer.store.store import Store
from tests.kit.bases import shared


def compose(reference: str, lock: Lock, store: Store, sink: str | None = None, name: str = "engine-test:1") -> str:
    """Compose ``reference`` with ``lock``; returns the manifest's digest."""
    runtime, _ = runtime_layers(BuildRequest(reference), lock, store)
    base = open_base(reference, store)
    plan = plan_append(base.resolve(Platform.host()), runtime, Options())

    @contextmanager
    def read(blob: PlannedBlob) -> Iterator[BinaryIO]:
        source = store.blobs.open(blob.descriptor.digest) if blob.origin == "store" else None
        with source or base.open_layer(blob.descriptor) as file:
            yield file

    open_sink(sink, name, store).apply(plan, read, silent)
    return str(plan.manifest_digest)


@pytest.fixture(scope="session")
def alpine_image(core_lock: Lock, core_store: Store) -> str:
    """The digest of a composed Alpine in ``core_store``."""
    return compose(shared("alpine-3.20.3"), core_lock, core_store)
