"""Hostile and broken tarballs as bases: one typed line each."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from composer.bases.open import open_base
from composer.errors import ArchiveError, PrefixConflictError
from composer.store.store import Store
from tests.kit.images import AMD64, HOSTILE, member, tar


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_in_one_line(case: str, tmp_path: Path) -> None:
    path = tmp_path / "base.tar"
    path.write_bytes(HOSTILE[case]())
    store = Store.open(tmp_path / "store")
    with pytest.raises(ArchiveError) as caught:
        open_base(f"rootfs:{path}", store).resolve(AMD64)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.next_step


def test_a_refused_tarball_leaves_no_blob(tmp_path: Path) -> None:
    path = tmp_path / "base.tar"
    path.write_bytes(HOSTILE["absolute-name"]())
    store = Store.open(tmp_path / "store")
    with pytest.raises(ArchiveError):
        open_base(f"rootfs:{path}", store).resolve(AMD64)
    assert list(store.blobs.digests()) == []


@pytest.mark.parametrize(
    "entry",
    [
        member(".oc"),
        member(".oc", tarfile.SYMTYPE, "usr"),
        member(".oc/mine"),
        member("./.oc", tarfile.SYMTYPE, "/usr"),
    ],
    ids=["file", "link", "content", "link-with-dot"],
)
def test_something_at_the_prefix_is_a_conflict(entry: tuple[tarfile.TarInfo, bytes], tmp_path: Path) -> None:
    path = tmp_path / "base.tar"
    path.write_bytes(tar(entry))
    base = open_base(f"rootfs:{path}", Store.open(tmp_path / "store"))
    image = base.resolve(AMD64)
    with pytest.raises(PrefixConflictError, match=r"/\.oc"):
        base.check_prefix(image, "/.oc")


def test_usual_entries_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "base.tar"
    entries = [
        member(".oc", tarfile.DIRTYPE),
        member("dev/null", tarfile.CHRTYPE),
        member("bin", tarfile.SYMTYPE, "usr/bin"),
    ]
    path.write_bytes(tar(*entries, member("etc/mtab", tarfile.SYMTYPE, "/proc/mounts")))
    base = open_base(f"rootfs:{path}", Store.open(tmp_path / "store"))
    base.check_prefix(base.resolve(AMD64), "/.oc")
