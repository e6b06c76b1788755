"""A whole store: where it is, what is wrong with it, what a killed process leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from composer.errors import StoreError
from composer.oci.descriptor import Descriptor
from composer.oci.mediatype import OCI
from composer.store.owner import owner, pid_namespace
from composer.store.store import Store


def image(store: Store, name: str) -> Descriptor:
    """A small image of one layer, stored and named."""
    parts = [Descriptor(OCI.config, store.blobs.put(b"{}"), 2)]
    parts += [Descriptor(OCI.layer_type("gzip"), store.blobs.put(b"layer"), 5)]
    document = {"schemaVersion": 2, "config": parts[0].as_json(), "layers": [parts[1].as_json()]}
    data = json.dumps(document).encode()
    manifest = Descriptor(OCI.manifest, store.blobs.put(data), len(data))
    store.layout.set_reference(name, manifest)
    (store.root / "envs" / "key.json").write_text(json.dumps({"layers": [{"descriptor": parts[1].as_json()}]}))
    return manifest


def lose_layer(store: Store) -> None:
    digest = next(d for d in store.blobs.digests() if store.blobs.read(d) == b"layer")
    store.blobs.path(digest).unlink()


def damage_layer(store: Store) -> None:
    digest = next(d for d in store.blobs.digests() if store.blobs.read(d) == b"layer")
    store.blobs.path(digest).write_bytes(b"LAYER")


def lose_manifest(store: Store) -> None:
    store.blobs.path(store.layout.references()["a:1"].digest).unlink()


def no_manifest(store: Store) -> None:
    store.layout.set_reference("a:1", Descriptor(OCI.manifest, store.blobs.put(b"[1]"), 3))


def damage_index(store: Store) -> None:
    (store.layout.root / "index.json").write_text("{")


def damage_record(store: Store) -> None:
    (store.root / "envs" / "key.json").write_text("{")


DAMAGE: dict[str, tuple[Callable[[Store], None], list[str]]] = {
    "layer lost": (lose_layer, ["image a:1: sha256:", "record envs/key.json: sha256:"]),
    "layer damaged": (damage_layer, ["blob sha256:"]),
    "manifest lost": (lose_manifest, ["image a:1: sha256:"]),
    "name of no manifest": (no_manifest, ["image a:1: sha256:"]),
    "index damaged": (damage_index, [f"{os.sep}"]),
    "record damaged": (damage_record, ["record envs/key.json: cannot be read"]),
}


@pytest.mark.parametrize(("damage", "expected"), DAMAGE.values(), ids=DAMAGE)
def test_verify_names_each_problem(tmp_path: Path, damage: Callable[[Store], None], expected: list[str]) -> None:
    store = Store.open(tmp_path)
    image(store, "a:1")
    assert store.verify() == []
    damage(store)
    found = store.verify()
    assert [line[: len(start)] for line, start in zip(found, expected, strict=True)] == expected


def test_the_store_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPOSER_STORE", str(tmp_path / "named"))
    assert Store.open().root == tmp_path / "named"
    monkeypatch.delenv("COMPOSER_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert Store.open().root == tmp_path / "cache" / "composer"


def test_a_store_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="COMPOSER_STORE"):
        Store.open(tmp_path / "file" / "store")


def test_sweep_takes_what_dead_processes_left_and_nothing_else(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True, text=True
    ).stdout.strip()
    (store.layout.root / "tmp").mkdir()
    owned = f"{dead}-{pid_namespace()}"
    left = [store.root / "tmp" / f"env-{owned}-x", store.layout.root / "tmp" / f"blob-{owned}-y"]
    left += [store.root / "envs" / f".key.json.{owned}-1", store.layout.root / f".index.json.{owned}-1"]
    left[0].mkdir()
    (left[0] / "file").write_text("")
    kept = [
        store.root / "tmp" / f"env-{owner()}-x",
        store.root / "tmp" / f"env-{dead}-1-x",
        store.root / "envs" / "key.json",
        store.root / "tmp" / "other",
    ]
    for path in [*left[1:], *kept]:
        path.write_text("{}")
    store.sweep()
    assert [path for path in left if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []
    assert store.verify() == []


def test_sweep_takes_what_another_pid_namespace_left_a_day_ago(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    old, new = (store.root / "tmp" / f"blob-{os.getpid()}-1-{name}" for name in ("old", "new"))
    for path in (old, new):
        path.write_text("")
    os.utime(old, (0, 0))
    store.sweep()
    assert (old.exists(), new.exists()) == (False, True)
