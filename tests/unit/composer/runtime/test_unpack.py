from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from composer.errors import ArchiveError, DigestMismatchError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.runtime.unpack import unpacked
from composer.store.store import Store

Fill = Callable[[tarfile.TarFile], None]


def _entry(
    archive: tarfile.TarFile, name: str, kind: bytes = tarfile.REGTYPE, data: bytes = b"", **more: object
) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mode, info.mtime = kind, len(data), 0o755, 7
    info.uid, info.gid = os.getuid(), os.getgid()
    for key, value in more.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def _layer(store: Store, fill: Fill) -> tuple[Descriptor, Digest]:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        fill(archive)
    stored = gzip.compress(out.getvalue(), 1)
    media_type = "application/vnd.oci.image.layer.v1.tar+gzip"
    return Descriptor(media_type, store.blobs.put(stored), len(stored)), Digest.of(out.getvalue())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def test_entries_keep_their_attributes(store: Store) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        _entry(archive, "./", tarfile.DIRTYPE)
        _entry(archive, "a/b/file", data=b"x", mode=0o4750)
        _entry(archive, "a/", tarfile.DIRTYPE, mtime=3)
        _entry(archive, "hard", tarfile.LNKTYPE, linkname="a/b/file")
        _entry(archive, "soft", tarfile.SYMTYPE, linkname="/etc/passwd")

    root = unpacked(store, *_layer(store, fill))
    found = (root / "a/b/file").stat()
    assert (stat.S_IMODE(found.st_mode), found.st_mtime, found.st_nlink) == (0o4750, 7, 2)
    assert (root / "a").stat().st_mtime == 3
    assert (root / "soft").readlink() == Path("/etc/passwd")


@pytest.mark.root
def test_whiteouts_become_overlays(store: Store) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        _entry(archive, "d", tarfile.DIRTYPE)
        _entry(archive, "d/.wh..wh..opq")
        _entry(archive, ".wh.gone")

    root = unpacked(store, *_layer(store, fill))
    gone = (root / "gone").lstat()
    assert stat.S_ISCHR(gone.st_mode)
    assert gone.st_rdev == 0
    assert os.getxattr(root / "d", "trusted.overlay.opaque") == b"y"


def test_a_link_inside_the_layer_stays_inside(store: Store, tmp_path: Path) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        _entry(archive, "usr/lib", tarfile.DIRTYPE)
        _entry(archive, "lib", tarfile.SYMTYPE, linkname="/usr/lib")
        _entry(archive, "lib/found", data=b"x")

    root = unpacked(store, *_layer(store, fill))
    assert (root / "usr/lib/found").read_bytes() == b"x"


@pytest.mark.parametrize(
    "fill",
    [
        pytest.param(lambda a: _entry(a, "../out", data=b"x"), id="dot-dot"),
        pytest.param(lambda a: _entry(a, "h", tarfile.LNKTYPE, linkname="../../etc/passwd"), id="hard-link-out"),
        pytest.param(
            lambda a: (_entry(a, "d", tarfile.SYMTYPE, linkname="/nowhere"), _entry(a, "d/x", data=b"x")), id="dangling"
        ),
    ],
)
def test_hostile_layers_leave_nothing(store: Store, fill: Fill) -> None:
    with pytest.raises(ArchiveError):
        unpacked(store, *_layer(store, fill))
    assert os.listdir(store.root / "unpacked") == []


def test_links_out_of_the_root_are_followed_inside_it(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    def fill(archive: tarfile.TarFile) -> None:
        _entry(archive, "d", tarfile.SYMTYPE, linkname=str(outside))
        _entry(archive, str(outside), tarfile.DIRTYPE)
        _entry(archive, "d/x", data=b"x")

    root = unpacked(store, *_layer(store, fill))
    assert os.listdir(outside) == []
    assert (root / str(outside)[1:] / "x").exists()


def test_a_truncated_layer(store: Store) -> None:
    layer, diff_id = _layer(store, lambda a: _entry(a, "x", data=os.urandom(100_000)))
    cut = store.blobs.read(layer.digest)[:-50_000]
    with pytest.raises(ArchiveError):
        unpacked(store, Descriptor(layer.media_type, store.blobs.put(cut), len(cut)), diff_id)


def test_another_diff_id(store: Store) -> None:
    layer, _ = _layer(store, lambda a: _entry(a, "x"))
    with pytest.raises(DigestMismatchError):
        unpacked(store, layer, Digest.of(b""))
    assert os.listdir(store.root / "unpacked") == []


def test_many_at_once_and_what_a_killed_one_left(store: Store) -> None:
    layer, diff_id = _layer(store, lambda a: _entry(a, "x", data=b"x" * 100_000))
    (store.root / "unpacked" / f".{diff_id.hex}.partial" / "half").mkdir(parents=True)
    threads = [threading.Thread(target=unpacked, args=(store, layer, diff_id)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.listdir(store.root / "unpacked") == [diff_id.hex]
    assert os.listdir(store.root / "unpacked" / diff_id.hex) == ["x"]
