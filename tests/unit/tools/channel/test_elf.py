from __future__ import annotations

import pytest

from tools.channel.elf import required_glibc, run_path
from tools.channel.tree import Entry


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("bin/bash", "$ORIGIN/../lib"),
        ("lib/libz.so.1", "$ORIGIN/../lib"),
        ("lib/ossl-modules/legacy.so", "$ORIGIN/.."),
        ("lib/python3.11/lib-dynload/_ssl.so", "$ORIGIN/../.."),
    ],
)
def test_run_path(path: str, value: str) -> None:
    assert run_path(path) == value


@pytest.mark.parametrize(
    ("data", "version"),
    [
        pytest.param(b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.9\0GLIBC_2.35\0", "2.35", id="the highest, by number"),
        pytest.param(b"\x7fELF\0GLIBC_2.4\0GLIBC_ABI_DT_RELR\0", "2.36", id="relative relocations"),
        pytest.param(b"\x7fELF\0GLIBCXX_3.4\0", None, id="none"),
        pytest.param(b"text\0GLIBC_2.99\0", None, id="not an ELF file"),
    ],
)
def test_required_glibc(data: bytes, version: str | None) -> None:
    assert required_glibc({"x": Entry(data)}) == version
