from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.env.elf import X86_64, parse_elf, read_elf


def make_elf(
    interpreter: bytes = b"/lib64/ld-linux-x86-64.so.2\0", stack: int | None = 6, run_path: str = "$ORIGIN"
) -> bytes:
    """A small ELF file: PT_LOAD over all of it, PT_INTERP, PT_DYNAMIC with two DT_NEEDED, PT_GNU_STACK."""
    strings = b"\0libc.so.6\0libz.so.1\0me.so\0" + run_path.encode() + b"\0"
    tags = [(1, 1), (1, 11), (14, 21), (29, 27), (5, 0x1000 + 512), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    segments = [(1, 5, 0, 0x1000, 2048), (3, 4, 1024, 0x1400, len(interpreter)), (2, 6, 768, 0x1300, len(dynamic))]
    segments += [] if stack is None else [(0x6474E551, stack, 0, 0, 0)]
    header = (
        b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(segments))
    )
    table = b"".join(struct.pack("<IIQQQQQQ", k, f, o, a, a, n, n, 1) for k, f, o, a, n in segments)
    data = bytearray(2048)
    for place, part in ((0, header), (64, table), (512, strings), (768, dynamic), (1024, interpreter)):
        data[place : place + len(part)] = part
    return bytes(data)


def test_parse_finds_what_decides_a_start():
    elf = parse_elf(make_elf())
    assert elf is not None
    assert elf.machine == X86_64.number
    assert elf.interpreter == X86_64.interpreter
    assert (elf.interpreter_at, elf.interpreter_size) == (1024, 28)
    assert elf.needed == ("libc.so.6", "libz.so.1")
    assert (elf.soname, elf.rpath) == ("me.so", ("$ORIGIN",))


@pytest.mark.parametrize(("flags", "expected"), [(6, False), (7, True), (None, None)], ids=["rw", "rwx", "missing"])
def test_stack(flags: int | None, expected: bool | None):
    elf = parse_elf(make_elf(stack=flags))
    assert elf is not None
    assert elf.executable_stack is expected


def test_a_real_program_and_a_script(tmp_path: Path):
    elf = read_elf(Path(sys.executable).resolve())
    assert elf is not None
    assert elf.interpreter
    script = tmp_path / "x"
    script.write_text("#!/bin/sh\n")
    assert read_elf(script) is None


@given(st.data())
def test_damaged_files_are_no_error(data: st.DataObject):
    whole = make_elf()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    edited = bytearray(cut)
    for _ in range(data.draw(st.integers(0, 8))):
        if edited:
            edited[data.draw(st.integers(0, len(edited) - 1))] = data.draw(st.integers(0, 255))
    parse_elf(bytes(edited))
