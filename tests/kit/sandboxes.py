"""Sandboxes of one test session alone, over the layers that all sessions share."""

from __future__ import annotations

from pathlib import Path

import pytest

from composer.store.store import Store


def beside(store: Store, root: Path) -> Store:
    """A store at ``root`` with everything of ``store`` but its sandboxes, which names and sweeps would mix up."""
    root.mkdir(parents=True)
    for path in store.root.iterdir():
        if path.is_dir() and path.name != "sandboxes":
            (root / path.name).symlink_to(path)
    return Store.open(root)


@pytest.fixture(scope="session")
def sandbox_store(core_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """``core_store`` with sandboxes of this session alone."""
    return beside(core_store, tmp_path_factory.mktemp("sandboxes") / "store")
