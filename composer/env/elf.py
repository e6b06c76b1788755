"""The parts of ELF files that decide how a program starts (System V ABI, chapters 4 and 5; elf(5))."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_GNU_STACK = 1, 2, 3, 0x6474E551
_DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 5, 14, 15, 29
_PF_X = 1


@dataclass(frozen=True, slots=True)
class Machine:
    """A CPU as ELF knows it: number (e_machine), conda's name, and the interpreter path of its psABI."""

    number: int
    name: str
    interpreter: bytes

    @property
    def loader(self) -> str:
        """The loader's file name, which is also its soname."""
        return self.interpreter.rsplit(b"/", 1)[-1].decode()


X86_64 = Machine(62, "x86_64", b"/lib64/ld-linux-x86-64.so.2")
AARCH64 = Machine(183, "aarch64", b"/lib/ld-linux-aarch64.so.1")
MACHINES = {machine.number: machine for machine in (X86_64, AARCH64)}


@dataclass(frozen=True, slots=True)
class Elf:
    """A 64-bit little-endian ELF file. ``interpreter_at`` and ``interpreter_size`` (bytes) are where PT_INTERP is.

    ``executable_stack`` is None without PT_GNU_STACK, which x86-64 kernels take for yes.
    """

    machine: int
    interpreter: bytes
    interpreter_at: int
    interpreter_size: int
    needed: tuple[str, ...]
    soname: str
    rpath: tuple[str, ...]
    executable_stack: bool | None


@dataclass(frozen=True, slots=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    address: int
    size: int


def read_elf(path: Path) -> Elf | None:
    """Parse a file; None when it is no 64-bit little-endian ELF."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        file.seek(0)
        return parse_elf(file.read())


def parse_elf(data: bytes) -> Elf | None:
    """Parse the bytes of a file; None when they are no whole 64-bit little-endian ELF."""
    if len(data) < 64 or data[:6] != b"\x7fELF\x02\x01":
        return None
    machine = struct.unpack_from("<H", data, 18)[0]
    try:
        segments = _segments(data)
        needed, soname, rpath = _dynamic(data, segments)
    except (struct.error, ValueError, OverflowError):
        return None
    interpreter = next((s for s in segments if s.kind == _PT_INTERP), None)
    stack = next((s for s in segments if s.kind == _PT_GNU_STACK), None)
    at, size = (interpreter.offset, interpreter.size) if interpreter else (0, 0)
    return Elf(
        machine=machine,
        interpreter=data[at : at + size].split(b"\0")[0],
        interpreter_at=at,
        interpreter_size=size,
        needed=tuple(needed),
        soname=soname,
        rpath=tuple(rpath),
        executable_stack=bool(stack.flags & _PF_X) if stack else None,
    )


def _segments(data: bytes) -> list[_Segment]:
    offset = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    segments = []
    for index in range(count):
        kind, flags, start, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", data, offset + index * size)
        segments.append(_Segment(kind, flags, start, address, length))
    return segments


def _dynamic(data: bytes, segments: list[_Segment]) -> tuple[list[str], str, list[str]]:
    """The needed sonames, the file's own, and its run path, of the dynamic section."""
    section = next((s for s in segments if s.kind == _PT_DYNAMIC), None)
    if section is None:
        return [], "", []
    entries: list[tuple[int, int]] = []
    for place in range(section.offset, section.offset + section.size - 15, 16):
        tag, value = struct.unpack_from("<QQ", data, place)
        if tag == 0:
            break
        entries.append((tag, value))
    table = _offset(next((value for tag, value in entries if tag == _DT_STRTAB), 0), segments)
    texts = [(tag, _text(data, table + value)) for tag, value in entries if tag in (1, 14, 15, 29)]
    needed = [text for tag, text in texts if tag == _DT_NEEDED]
    soname = next((text for tag, text in texts if tag == _DT_SONAME), "")
    run = [part for tag, text in texts if tag in (_DT_RPATH, _DT_RUNPATH) for part in text.split(":") if part]
    return needed, soname, run


def _offset(address: int, segments: list[_Segment]) -> int:
    for segment in segments:
        if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.size:
            return segment.offset + address - segment.address
    raise ValueError(f"no segment has the address {address:#x}")


def _text(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset, offset + 65536)
    if end < 0:
        raise ValueError("a text without its end")
    return data[offset:end].decode("utf-8", "surrogateescape")
