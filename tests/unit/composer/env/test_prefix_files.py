from __future__ import annotations

import os
from pathlib import Path

import pytest

from composer.env.elf import X86_64
from composer.env.files import regular_files, replace_file, set_modes
from composer.env.prune import prune
from composer.env.sysroot import link_glibc, place_glibc
from composer.errors import VerifyError
from tests.unit.composer.env.test_elf import make_elf


def lay(root: Path, *names: str, data: bytes = b"x") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


@pytest.mark.parametrize(
    ("name", "goes"),
    [
        ("include/zmq.h", True),
        ("lib/libz.a", True),
        ("lib/libz.so.1", False),
        ("lib/python3.11/test/test_os.py", True),
        ("lib/python3.11/unittest/case.py", False),
        ("lib/python3.11/unittest/test/x.py", True),
        ("lib/python3.11/__pycache__/os.cpython-311.pyc", True),
        ("lib/python3.11/site-packages/zmq/tests/__init__.py", True),
        ("lib/python3.11/site-packages/mine/tests/__init__.py", False),
        ("lib/python3.11/site-packages/mine/include/x.h", False),
        ("lib/gconv/IBM037.so", True),
        ("lib/gconv/UTF-16.so", False),
        ("share/zoneinfo/Europe/Berlin", False),
        ("share/zoneinfo/right/UTC", True),
        ("share/terminfo/x/xterm", False),
        ("share/man/man1/bash.1", True),
        ("bin/bash", False),
        ("bin/bashbug", True),
        ("conda-meta/history", True),
        ("ssl/cert.pem", False),
    ],
)
def test_prune(tmp_path: Path, name: str, goes: bool):
    lay(tmp_path, name)
    assert prune(tmp_path) == ({name} if goes else set())
    assert os.listdir(tmp_path) == ([] if goes else [name.split("/", 1)[0]])


def test_replaced_files_leave_other_hard_links_alone(tmp_path: Path):
    cache = tmp_path / "cache"
    cache.write_bytes(b"old")
    cache.chmod(0o755)
    (tmp_path / "file").hardlink_to(cache)
    replace_file(tmp_path / "file", b"new")
    assert cache.read_bytes() == b"old"
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o755


def test_modes_do_not_depend_on_what_was_there(tmp_path: Path):
    lay(tmp_path, "a/secret", "a/program")
    (tmp_path / "a/secret").chmod(0o600)
    (tmp_path / "a/program").chmod(0o4711)
    (tmp_path / "a").chmod(0o2770)
    set_modes(tmp_path)
    assert [oct(p.stat().st_mode & 0o7777) for p in (tmp_path / "a", *regular_files(tmp_path))] == [
        "0o755",
        "0o755",
        "0o644",
    ]


def sysroot(root: Path) -> Path:
    where = root / "x86_64-conda-linux-gnu/sysroot"
    names = ("lib64/ld.so", "lib64/libc.so.6", "lib64/libz.so.1", "lib64/libnsl.so.1", "lib64/libnsl-2.28.so")
    lay(where, *names, data=make_elf())
    (where / "lib64/ld-linux-x86-64.so.2").symlink_to("ld.so")
    (where / "lib64/libc.so").write_text("/* GNU ld script */")
    lay(where, "usr/include/stdio.h", "usr/lib64/gconv/UTF-16.so", "usr/lib/locale/C.utf8/LC_CTYPE")
    lay(where, "usr/lib/locale/de_DE/LC_CTYPE")
    (where / "lib").symlink_to("lib64")  # as in conda-forge's 2.39
    return where


def test_glibc_is_taken_out_of_the_sysroot(tmp_path: Path):
    sysroot(tmp_path)
    lay(tmp_path, "lib/libz.so.1", data=b"the environment's own")
    moved = place_glibc(tmp_path, X86_64)
    link_glibc(tmp_path, X86_64)
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_symlink() or p.is_file())
    assert found == [
        "ld-linux-x86-64.so.2",
        "lib/gconv/UTF-16.so",
        "lib/ld-linux-x86-64.so.2",
        "lib/ld.so",
        "lib/libc.so.6",
        "lib/libz.so.1",
        "lib/locale/C.utf8/LC_CTYPE",
        "lib/x86_64-linux-gnu/gconv",
        "lib64/gconv",
    ]
    assert (tmp_path / "lib/libz.so.1").read_bytes() == b"the environment's own"
    assert (tmp_path / "lib/x86_64-linux-gnu/gconv/UTF-16.so").is_file()
    assert (tmp_path / "lib64/gconv/UTF-16.so").is_file()
    assert moved["x86_64-conda-linux-gnu/sysroot/lib64/libc.so.6"] == "lib/libc.so.6"


def test_a_library_that_the_environment_needs_comes_along(tmp_path: Path):
    where = sysroot(tmp_path)
    (where / "lib64/libz.so.1").rename(where / "lib64/libv.so.1")
    lay(tmp_path, "lib/mine.so", data=make_elf().replace(b"libz.so.1", b"libv.so.1"))
    place_glibc(tmp_path, X86_64)
    assert (tmp_path / "lib/libv.so.1").exists()
    assert not (tmp_path / "lib/libnsl.so.1").exists()


def test_no_sysroot_is_an_error(tmp_path: Path):
    (tmp_path / "lib").mkdir()
    with pytest.raises(VerifyError, match=r"no ld-linux-x86-64.so.2.*add the sysroot"):
        place_glibc(tmp_path, X86_64)
