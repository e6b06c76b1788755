from __future__ import annotations

import pytest

from tools.channel.architecture import X86_64
from tools.channel.debs import Deb
from tools.channel.errors import RecipeError
from tools.channel.sysroot import GlibcDebs, sysroot_packages
from tools.channel.tree import Entry, Tree, link

_ROOT = "x86_64-conda-linux-gnu/sysroot"
_GCONV = "usr/lib/x86_64-linux-gnu/gconv"
_LIBRARIES: Tree = {
    f"{X86_64.glibc_directory}/libc.so.6": Entry(b"\x7fELF"),
    f"{X86_64.glibc_directory}/ld-linux-x86-64.so.2": Entry(b"\x7fELF", executable=True),
    f"{X86_64.glibc_directory}/libnsl.so.1": Entry(b"\x7fELF"),
    f"{X86_64.glibc_directory}/libcrypt.so.1": Entry(b"\x7fELF"),
    f"{X86_64.glibc_directory}/libm.so": link("/elsewhere/libm.so.6"),
}
_MODULES: Tree = {
    f"{_GCONV}/gconv-modules": Entry(b"alias\tLATIN1//\tISO-8859-1//\nmodule\tISO-8859-1//\tINTERNAL\tISO8859-1\t1\n"),
    f"{_GCONV}/gconv-modules.d/gconv-modules-extra.conf": Entry(b"module\tKOI8-R//\tINTERNAL\tKOI8-R\t1\n"),
    f"{_GCONV}/gconv-modules.cache": Entry(b"cache"),
    f"{_GCONV}/ISO8859-1.so": Entry(b"\x7fELF"),
    f"{_GCONV}/KOI8-R.so": Entry(b"\x7fELF"),
}
_PROGRAMS: Tree = {
    "usr/lib/locale/C.utf8/LC_CTYPE": Entry(b"utf8"),
    "usr/lib/locale/de_DE/LC_CTYPE": Entry(b"german"),
    "usr/bin/ldd": Entry(b"#!/bin/bash\n"),
}


def _debs(libraries: Tree) -> GlibcDebs:
    return GlibcDebs(
        Deb("libc6-amd64-i386-cross", "2.36", "0" * 64, libraries),
        Deb("libc6", "2.36", "1" * 64, _MODULES),
        Deb("libc-bin", "2.36", "2" * 64, _PROGRAMS),
    )


def test_the_sysroot_is_laid_out_as_on_conda_forge() -> None:
    sysroot, extra = sysroot_packages(_debs(_LIBRARIES), X86_64)
    assert set(sysroot.tree) == {
        f"{_ROOT}/lib64/libc.so.6",
        f"{_ROOT}/lib64/ld-linux-x86-64.so.2",
        f"{_ROOT}/usr/lib64/gconv/gconv-modules",
        f"{_ROOT}/usr/lib64/gconv/ISO8859-1.so",
        f"{_ROOT}/usr/lib/locale/C.utf8/LC_CTYPE",
        f"{_ROOT}/usr/share/zoneinfo",
    }
    assert (sysroot.name, sysroot.version, sysroot.subdir, sysroot.noarch) == (
        "sysroot_linux-64",
        "2.36",
        "noarch",
        "generic",
    )
    assert "__glibc >=2.36,<3.0.a0" in sysroot.depends
    assert set(extra.tree) == {
        f"{_ROOT}/usr/lib64/gconv/KOI8-R.so",
        f"{_ROOT}/usr/lib64/gconv/gconv-modules.d/gconv-modules-extra.conf",
    }
    assert extra.depends == ("sysroot_linux-64 2.36.*",)


def test_a_glibc_elsewhere_is_refused() -> None:
    with pytest.raises(RecipeError, match="no libc in"):
        sysroot_packages(_debs({}), X86_64)
