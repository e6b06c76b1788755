"""Blobs by digest: whole or not there."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from composer.errors import DigestMismatchError, DiskFullError, StoreError
from composer.oci.digest import Digest
from composer.store.blobs import BlobStore

DATA = b"content"
DIGEST = Digest.of(DATA)


def leftovers(store: BlobStore) -> list[str]:
    return os.listdir(store.root / "tmp")


def fill(store: BlobStore, chunk: int) -> None:
    with store.writer() as writer:
        for _ in range(400):
            writer.write(b"x" * chunk)
        writer.commit()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(mount)], check=True)
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_blob_is_read_back(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    assert store.put(DATA) == DIGEST
    assert store.read(DIGEST) == DATA
    assert list(store.digests()) == [DIGEST]
    assert store.has(DIGEST, len(DATA))
    assert not store.has(DIGEST, len(DATA) + 1)
    assert store.verify() == []
    assert leftovers(store) == []


def test_a_stream_of_another_digest_leaves_nothing(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    with pytest.raises(DigestMismatchError):
        store.copy_in(io.BytesIO(b"other"), DIGEST)
    assert list(store.digests()) == leftovers(store) == []


def test_a_writer_without_commit_leaves_nothing(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    with store.writer() as writer:
        writer.write(DATA)
    assert list(store.digests()) == leftovers(store) == []


def test_an_absent_blob_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=DIGEST):
        BlobStore(tmp_path).read(DIGEST)


def test_verify_names_the_damaged(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    store.put(b"sound")
    store.path(store.put(DATA)).write_bytes(b"damage")
    assert store.verify() == [DIGEST]


@pytest.mark.root
@pytest.mark.parametrize("chunk", [4096, 100_003, 1 << 20], ids=["buffered", "odd", "large"])
def test_a_full_disk_is_named_and_left_clean(small_disk: Path, chunk: int) -> None:
    store = BlobStore(small_disk)
    with pytest.raises(DiskFullError):
        fill(store, chunk)
    assert list(store.digests()) == leftovers(store) == []
