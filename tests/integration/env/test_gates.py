"""A gate that cannot fail is none: each is shown a prefix with the damage that it is for."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from composer.env.built import BuiltEnv
from composer.env.elf import X86_64, read_elf
from composer.env.files import replace_file
from composer.env.gates.start import traced_paths
from composer.env.loader import variable_tests
from composer.env.verify import verify_folder


def segment(data: bytes, kind: int) -> int:
    """Where the program header of a kind is."""
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    return next(start + i * size for i in range(count) if struct.unpack_from("<I", data, start + i * size)[0] == kind)


def executable_stack(root: Path) -> None:
    data = bytearray((root / "lib/libz.so.1.2.13").read_bytes())
    struct.pack_into("<I", data, segment(bytes(data), 0x6474E551) + 4, 7)
    replace_file(root / "lib/libz.so.1.2.13", bytes(data))


def missing_library(root: Path) -> None:
    for path in root.glob("lib/libexpat.so*"):
        path.unlink()


def foreign_interpreter(root: Path) -> None:
    edit(root / "bin/bash", b"/.oc/ld-linux-x86-64.so.2\0\0\0", b"/lib64/ld-linux-x86-64.so.2\0")


def foreign_directories(root: Path) -> None:
    edit(root / "lib/ld-linux-x86-64.so.2", b"/.oc/// /.oc/lib///".replace(b" ", b"\0"), b"/lib64/\0/usr/lib64/")


def obeyed_variables(root: Path) -> None:
    path = (root / "lib/ld-linux-x86-64.so.2").resolve()
    data = path.read_bytes()
    place = data.index(b"\x80\x38\x01\x75")  # cmpb $1,(%rax), which was cmpb $'L',(%rax)
    data = data[: place + 2] + b"L" + data[place + 3 :]
    assert len(variable_tests(data, X86_64)) == 1
    replace_file(path, data)


def link_to_the_base(root: Path) -> None:
    (root / "lib/libx.so").symlink_to("/usr/lib/libx.so")


def build_path(root: Path) -> None:
    (root / "lib/note").write_text("made in /host/folder/stage\n")


def placeholder(root: Path) -> None:
    (root / "lib/note").write_text("/home/build/_h_env_placehold_placehold\n")


def absolute_run_path(root: Path) -> None:
    path = next(p for p in sorted(root.glob("lib/*.so*")) if not p.is_symlink() and (e := read_elf(p)) and e.rpath)
    old = read_elf(path)
    assert old is not None
    edit(path, old.rpath[0].encode() + b"\0", b"/usr/lib".ljust(len(old.rpath[0]), b"/") + b"\0")


def edit(path: Path, old: bytes, new: bytes) -> None:
    path = path.resolve()
    data = path.read_bytes()
    assert old in data
    replace_file(path, data.replace(old, new))


@pytest.mark.parametrize(
    ("damage", "gates"),
    [
        (executable_stack, {"no executable stack"}),
        (missing_library, {"needed libraries", "starts in an empty root"}),
        (foreign_interpreter, {"interpreter", "starts in an empty root"}),
        (foreign_directories, {"loader", "opens no file of the base"}),
        (obeyed_variables, {"loader", "ignores the base's libraries and LD_* variables"}),
        (link_to_the_base, {"links"}),
        (build_path, {"no build paths"}),
        (placeholder, {"no build paths"}),
        (absolute_run_path, {"run paths"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_damage_is_found(core_env: BuiltEnv, tmp_path: Path, damage: Callable[[Path], None], gates: set[str]):
    root = tmp_path / ".oc"
    shutil.copytree(core_env.root, root, symlinks=True)
    damage(root)
    found = verify_folder(root, host_paths=("/host/folder",))
    untried = {gate.name for gate in found if not gate.tried}
    assert gates - untried <= {gate.name for gate in found if not gate.passed}


def test_traced_paths_begin_after_chroot():
    log = """\
12 execve("/usr/sbin/chroot", ["chroot"], 0x7ffe /* 1 var */) = 0
12 openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
12 chroot("/tmp/root") = 0
12 chdir("/") = 0
12 execve("/.oc/bin/python3", ["/.oc/bin/python3"], 0x7ffe /* 1 var */) = 0
13 openat(AT_FDCWD, "/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
13 readlink("relative", 0x7ffe, 4096) = -1 EINVAL (Invalid argument)
12 +++ exited with 0 +++
"""
    assert traced_paths(log) == ["/", "/.oc/bin/python3", "/lib/libc.so.6"]
