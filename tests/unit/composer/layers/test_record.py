"""Records of finished envs: whole or as if not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from composer.env.built import BuiltEnv, BuiltPackage
from composer.layers.layer import Layer
from composer.layers.record import env_key, env_records, find_env, find_layer, save_env, save_layer
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import OCI
from composer.oci.platform import Platform
from composer.store.store import Store

HOST = Platform("linux", "amd64")
LOCK = Digest.of(b"lock")
KEY = env_key(LOCK, "/.oc", HOST, "gzip")


def stored(store: Store, data: bytes = b"blob") -> Layer:
    descriptor = Descriptor(OCI.layer_type("gzip"), store.blobs.put(data), len(data))
    return Layer(descriptor, Digest.of(b"tar"), "libc", ("python 3.11",), 10)


def saved(store: Store) -> tuple[Layer, ...]:
    package = BuiltPackage("python", "3.11", "0", "linux-64", "", "", "PSF", ("bin/python3", "bin/python"))
    layers = (stored(store),)
    save_env(store, KEY, BuiltEnv(store.root, "/.oc", HOST, LOCK, (package,)), layers)
    return layers


def test_what_was_saved_is_found(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    assert find_env(store, KEY) is None
    layers = saved(store)
    assert find_env(store, KEY) == layers
    (record,) = env_records(store)
    assert (record.key, record.lock_digest, record.layers) == (KEY, LOCK, layers)
    assert record.packages[0]["files"] == 2


def test_an_env_without_a_blob_is_not_found(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    (layer,) = saved(store)
    store.blobs.path(layer.descriptor.digest).write_bytes(b"short")
    assert find_env(store, KEY) is None
    store.blobs.path(layer.descriptor.digest).unlink()
    assert find_env(store, KEY) is None


DAMAGE = ["", "[]", "null", "{", "{}", '{"lock_digest": "sha256:zz"}']


@pytest.mark.parametrize("text", DAMAGE)
def test_a_damaged_record_is_not_found(tmp_path: Path, text: str) -> None:
    store = Store.open(tmp_path)
    saved(store)
    path = store.root / "envs" / f"{KEY}.json"
    path.write_text(text)
    assert find_env(store, KEY) is None
    assert env_records(store) == []
    assert find_layer(store, path) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("lock_digest", "sha256:zz"), ("platform", "?"), ("layers", [{"descriptor": 1}]), ("layers", 1)],
    ids=["digest", "platform", "descriptor", "layers"],
)
def test_a_record_with_a_damaged_field_is_not_found(tmp_path: Path, field: str, value: object) -> None:
    store = Store.open(tmp_path)
    saved(store)
    path = store.root / "envs" / f"{KEY}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    assert find_env(store, KEY) is None


def test_a_layer_is_found_again(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    layer = stored(store)
    save_layer(tmp_path / "agents" / "a.json", layer)
    assert find_layer(store, tmp_path / "agents" / "a.json") == layer


def test_each_input_changes_the_key() -> None:
    arm = Platform("linux", "arm64")
    keys = {
        KEY,
        env_key(Digest.of(b"other"), "/.oc", HOST, "gzip"),
        env_key(LOCK, "/.op", HOST, "gzip"),
        env_key(LOCK, "/.oc", arm, "gzip"),
        env_key(LOCK, "/.oc", HOST, "zstd"),
    }
    assert len(keys) == 5
