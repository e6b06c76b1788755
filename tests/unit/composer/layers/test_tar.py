"""The tar of a layer: equal content gives equal bytes."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from composer.errors import StoreError
from composer.layers.entries import Entry, layer_entries, walk
from composer.layers.tar import write_tar

LONG = "d" * 90 + "/" + "f" * 150


def tree(root: Path, umask: int = 0o022) -> Path:
    old = os.umask(umask)
    try:
        (root / "bin").mkdir(parents=True)
        (root / "run").mkdir()
        (root / "bin" / "tool").write_bytes(b"#!" + b"x" * 70_000)
        (root / "bin" / "alias").symlink_to("tool")
        (root / "sbin").symlink_to("bin")
        (root / "bin" / "tool.also").hardlink_to(root / "bin" / "tool")
        (root / LONG).parent.mkdir()
        (root / LONG).write_text("long")
        (root / "näme").write_text("utf-8")
    finally:
        os.umask(old)
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            if not Path(folder, name).is_symlink():
                Path(folder, name).chmod(0o755 if name == "tool" else 0o644)
    return root


def packed(root: Path) -> bytes:
    target = io.BytesIO()
    write_tar(layer_entries(root, "/.oc", walk(root)), target)
    return target.getvalue()


def test_the_bytes_do_not_depend_on_where_when_or_under_which_umask(tmp_path: Path) -> None:
    one = tree(tmp_path / "one")
    two = tree(tmp_path / "elsewhere" / "two", 0o077)
    for path in sorted(two.rglob("*")):
        os.utime(path, (1, 1), follow_symlinks=False)
    assert packed(one) == packed(two)


def test_members_are_root_s_without_names_and_times_and_in_order(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(tree(tmp_path / "tree")))) as tar:
        members = tar.getmembers()
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "", "", 0)}
    names = [m.name for m in members]
    assert names[0] == ".oc"
    assert names == sorted(names, key=lambda name: name.split("/"))
    assert len(set(names)) == len(names)
    assert all(name.rpartition("/")[0] in {"", *names[:at]} for at, name in enumerate(names))
    assert f".oc/{LONG}" in names


def test_members_read_back_as_they_were(tmp_path: Path) -> None:
    root = tree(tmp_path / "tree")
    with tarfile.open(fileobj=io.BytesIO(packed(root))) as tar:
        tar.extractall(tmp_path / "out", filter="tar")
        kinds = {m.name: m.type for m in tar.getmembers()}
    out = tmp_path / "out" / ".oc"
    assert (out / "bin" / "tool.also").read_bytes() == (root / "bin" / "tool").read_bytes()
    assert (out / "sbin").readlink() == Path("bin")
    assert (out / "näme").read_text() == "utf-8"
    assert (out / "run").is_dir()
    assert kinds[".oc/bin/tool"] == kinds[".oc/bin/tool.also"] == tarfile.REGTYPE


def test_pax_headers_stand_only_where_they_are_needed(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(tree(tmp_path / "tree")))) as tar:
        assert {m.name for m in tar.getmembers() if m.pax_headers} == {f".oc/{LONG}", ".oc/näme"}


def test_a_pipe_is_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="pipe"):
        write_tar([Entry(".oc/pipe", tmp_path / "pipe")], io.BytesIO())


def test_a_file_that_went_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="gone"):
        write_tar([Entry(".oc/gone", tmp_path / "gone")], io.BytesIO())


def test_directories_are_walked_only_where_nothing_is_in_them(tmp_path: Path) -> None:
    assert set(walk(tree(tmp_path / "tree"))) == {
        "bin/tool", "bin/tool.also", "bin/alias", "sbin", "run", LONG, "näme",
    }  # fmt: skip
