"""Snippets are of Debian's libc6 2.31-13, 2.36-9 and 2.41-12, in which the code of process_envvars is the same."""

from __future__ import annotations

import pytest

from composer.env.elf import AARCH64, X86_64, Machine
from composer.env.libc import edit_libc
from composer.env.loader import check_prefix, edit_loader, search_directories, variable_tests
from composer.errors import UnsupportedError, VerifyError

_X86 = bytes.fromhex("80384c75ee8078014475e88078025f75e24883c2")
_ARM = bytes.fromhex("5f30017181ffff54020440395f10017121ffff54020840395f7c0171")


def multiarch(triplet: str) -> bytes:
    return f"/lib/{triplet}/\0/usr/lib/{triplet}/\0/lib/\0/usr/lib/\0".encode()


_RHEL = b"/lib64/\0/usr/lib64/\0/lib/\0/usr/lib/\0"


def loader(machine: Machine, code: bytes, tables: list[bytes]) -> bytes:
    data = bytes(64) + code + b"/etc/ld.so.cache\0/etc/ld.so.preload\0GLIBC_TUNABLES\0" + machine.interpreter + b"\0"
    for table in tables:
        data += b"x" + table  # the second table follows other data, not a NUL
    return data + bytes(-len(data) % 4)


@pytest.mark.parametrize(
    ("machine", "code", "tables"),
    [
        pytest.param(X86_64, _X86, [multiarch("x86_64-linux-gnu")], id="x86_64-2.31"),
        pytest.param(X86_64, _X86, [multiarch("x86_64-linux-gnu")] * 2, id="x86_64-2.36-2.41"),
        pytest.param(X86_64, _X86, [_RHEL, _RHEL], id="x86_64-lib64"),
        pytest.param(AARCH64, _ARM, [multiarch("aarch64-linux-gnu")], id="aarch64-2.31"),
        pytest.param(AARCH64, _ARM, [multiarch("aarch64-linux-gnu")] * 2, id="aarch64-2.36-2.41"),
        pytest.param(AARCH64, _ARM, [_RHEL], id="aarch64-lib64"),
    ],
)
def test_edited_loader_searches_the_prefix_and_ignores_variables(machine: Machine, code: bytes, tables: list[bytes]):
    data = loader(machine, code, tables)
    assert len(variable_tests(data, machine)) == 1
    assert search_directories(data)
    edited = edit_loader(data, machine, b"/.oc", "ld")
    assert len(edited) == len(data)
    assert variable_tests(edited, machine) == []
    assert search_directories(edited) == []
    assert b"/.oc/ld.so.cache\0/.oc/ld.so.preload\0_OC_C_TUNABLES\0/.oc/" + machine.loader.encode() + b"\0" in edited
    assert edited.count(b"/.oc/lib/") >= len(tables)
    assert b"/etc/" not in edited


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (_X86[:3], b"\x90" * 3, "test for LD_ variables"),
        (_RHEL, _RHEL + b"y/lib64/\0", "is left"),
        (_RHEL, b"/nothing/" + bytes(len(_RHEL) - 9), "no table"),
        (b"/etc/ld.so.cache", b"/etc/ld_so.cache", "ld.so.cache"),
    ],
    ids=["code", "one entry", "table", "cache"],
)
def test_an_unknown_loader_fails_the_build(old: bytes, new: bytes, words: str):
    data = loader(X86_64, _X86, [_RHEL]).replace(old, new)
    with pytest.raises(VerifyError, match=words):
        edit_loader(data, X86_64, b"/.oc", "ld")


@pytest.mark.parametrize("prefix", ["/opt/oc", ".oc", "/oc", "/a/b", "/a\0b"])
def test_only_a_prefix_of_four_bytes_can_be(prefix: str):
    with pytest.raises(UnsupportedError):
        check_prefix(prefix)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\0/usr/lib/locale\0", b"\0/.oc/lib/locale\0"),
        (b"/usr/lib/x86_64-linux-gnu/gconv\0", b"/.oc/lib/x86_64-linux-gnu/gconv\0"),
        (b"/etc/nsswitch.co", b"/.oc/nsswitch.co"),
        (b"/var/run/nscd/socket\0", b"/.oc/run/nscd/socket\0"),
        (b"\0LOCPATH\0GCONV_PATH\0", b"\0_OCPATH\0_OC_V_PATH\0"),
        (b"/lib/ld-linux-aarch64.so.1\0", b"/.oc/ld-linux-aarch64.so.1\0"),
        (b"/etc/hosts\0/etc/resolv.conf\0", b"/etc/hosts\0/etc/resolv.conf\0"),
    ],
)
def test_libc_takes_its_data_from_the_prefix(old: bytes, new: bytes):
    if b"LOCPATH" in old:  # the first match takes the NUL that the second needs
        old, new = old.replace(b"\0GCONV", b"\0\0GCONV"), new.replace(b"\0_OC_V", b"\0\0_OC_V")
    assert edit_libc(old, b"/.oc") == new
