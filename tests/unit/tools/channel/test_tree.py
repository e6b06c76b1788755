from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.channel.tree import Entry, link, read_tar, relative, resolve, without_dangling

_NAME = st.text("abc.", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
_PATH = st.lists(_NAME, min_size=1, max_size=4).map("/".join)


def test_read_tar_keeps_files_links_and_modes_only() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, target, data in (
            ("./usr", tarfile.DIRTYPE, "", b""),
            ("./usr/a", tarfile.REGTYPE, "", b"hello"),
            ("./usr/hard", tarfile.LNKTYPE, "./usr/a", b""),
            ("./usr/soft", tarfile.SYMTYPE, "a", b""),
            ("./dev/null", tarfile.CHRTYPE, "", b""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size, member.mode = kind, target, len(data), 0o755
            tar.addfile(member, io.BytesIO(data))
    tree = read_tar(buffer.getvalue())
    file = Entry(b"hello", executable=True)
    assert tree == {"usr/a": file, "usr/hard": file, "usr/soft": link("a")}


@pytest.mark.parametrize(
    ("path", "target", "place"),
    [
        pytest.param("lib/a.so", "a.so.1", "lib/a.so.1", id="beside"),
        pytest.param("usr/lib/a.so", "/lib/a.so.1", "lib/a.so.1", id="absolute"),
        pytest.param("bin/x", "../lib/y", "lib/y", id="up"),
        pytest.param("x", "../../../y", "y", id="never above the root"),
    ],
)
def test_resolve(path: str, target: str, place: str) -> None:
    assert resolve(path, target) == place


@given(_PATH, _PATH)
def test_relative_is_undone_by_resolve(path: str, destination: str) -> None:
    assert resolve(path, relative(path, destination)) == destination


def test_dangling_links_go_with_the_links_to_them() -> None:
    tree = {
        "lib/real": Entry(b"x"),
        "a": link("lib/real"),
        "dir": link("lib"),
        "b": link("gone"),
        "c": link("b"),
    }
    assert set(without_dangling(tree)) == {"lib/real", "a", "dir"}
