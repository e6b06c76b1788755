"""Layers: digests, compression, and which of them a changed package changes."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest
import zstandard

from composer.env.built import BuiltEnv, BuiltPackage
from composer.layers.layer import Layer
from composer.layers.pack import pack_env
from composer.oci.digest import Digest
from composer.oci.mediatype import Compression
from composer.oci.platform import Platform
from composer.progress import silent
from composer.store.store import Store

FILES = {
    "python": ("1", {"bin/python3": 9 << 20, "lib/python3.11/os.py": 900}),
    "bash": ("5", {"bin/bash": 100_000}),
    "pyzmq": ("1", {"lib/python3.11/site-packages/zmq/a.py": 5000, "lib/python3.11/site-packages/zmq-1/RECORD": 10}),
    "nodejs": ("1", {"bin/node": 5000}),
}


def made(root: Path, files: dict[str, tuple[str, dict[str, int]]]) -> BuiltEnv:
    packages = []
    for name, (version, sizes) in files.items():
        for path, size in sizes.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(random.Random(f"{path} {version}").randbytes(size // 2) + bytes(size - size // 2))
        packages.append(BuiltPackage(name, version, "0", "linux-64", "", "", "", tuple(sizes)))
    (root / "run").mkdir()
    return BuiltEnv(root, "/.oc", Platform("linux", "amd64"), Digest.of(b"lock"), tuple(packages))


def unpacked(store: Store, layer: Layer, compression: Compression) -> bytes:
    data = store.blobs.read(layer.descriptor.digest)
    if compression == "gzip":
        return gzip.decompress(data)
    if compression == "zstd":
        return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    return data


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
def test_digests_and_sizes_are_those_of_the_bytes(tmp_path: Path, compression: Compression) -> None:
    store = Store.open(tmp_path / "store")
    layers = pack_env(made(tmp_path / "env", FILES), store, compression, silent)
    for layer in layers:
        tar = unpacked(store, layer, compression)
        assert layer.diff_id == "sha256:" + hashlib.sha256(tar).hexdigest()
        assert layer.unpacked_size == len(tar)
        assert store.blobs.has(layer.descriptor.digest, layer.descriptor.size)
    assert store.verify() == []
    assert layers[0].packages == ("python 1",)


def test_gzip_members_have_no_time_and_no_name(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    layers = pack_env(made(tmp_path / "env", FILES), store, "gzip", silent)
    heads = {store.blobs.read(layer.descriptor.digest)[:8] for layer in layers}
    assert heads == {b"\x1f\x8b\x08\x00\x00\x00\x00\x00"}


def test_readers_of_a_single_member_read_the_whole_layer(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    first = pack_env(made(tmp_path / "env", FILES), store, "gzip", silent)[0]
    blob = store.blobs.read(first.descriptor.digest)
    assert first.diff_id == Digest.of(zlib.decompress(blob, wbits=31))
    assert first.diff_id == Digest.of(
        subprocess.run(["gzip", "-dc"], input=blob, capture_output=True, check=True).stdout
    )
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r|gz") as tar:
        assert tar.getnames()[-1] == ".oc/run"


def test_the_same_env_elsewhere_gives_the_same_layers(tmp_path: Path) -> None:
    one = pack_env(made(tmp_path / "one", FILES), Store.open(tmp_path / "a"), "gzip", silent)
    two = pack_env(made(tmp_path / "two", FILES), Store.open(tmp_path / "b"), "gzip", silent)
    assert one == two


def test_known_bytes_have_known_digests(tmp_path: Path) -> None:
    env = made(tmp_path / "env", {"python": ("1", {"bin/python3": 5 << 20})})
    (layer,) = pack_env(env, Store.open(tmp_path / "store"), "gzip", silent)
    assert (layer.diff_id, layer.descriptor.digest) == (
        "sha256:0300055e40d7e8907d2967e2452f9ad03c7f0dc2820a1fbccff72a8a63216f13",
        "sha256:f3de6fd8d4e9645945ec6bbf2e00fa679d39a4742b8c2964e13a8e510e1c328d",
    )


@pytest.mark.parametrize(
    ("name", "path"),
    [("pyzmq", "lib/python3.11/site-packages/zmq-2/RECORD"), ("bash", "bin/bash"), ("nodejs", "lib/node/new")],
    ids=["renames its folder", "changes a file", "adds a folder"],
)
def test_a_package_that_changes_changes_one_layer(tmp_path: Path, name: str, path: str) -> None:
    before = pack_env(made(tmp_path / "before", FILES), Store.open(tmp_path / "store"), "gzip", silent)
    env = made(tmp_path / "after", {**FILES, name: ("2", {path: 100})})
    after = pack_env(env, Store.open(tmp_path / "store"), "gzip", silent)
    changed = [new.packages for old, new in zip(before, after, strict=True) if old.diff_id != new.diff_id]
    assert len(changed) == 1
    assert f"{name} 2" in changed[0]


def test_progress_ends_at_its_total(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    env = made(tmp_path / "env", FILES)
    layers = pack_env(
        env, Store.open(tmp_path / "store"), "none", lambda _what, done, total: seen.append((done, total))
    )
    assert seen[0] == (0, len(layers))
    assert seen[-1] == (len(layers), len(layers))
