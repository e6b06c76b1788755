"""The seccomp filter as a program of classic BPF, for who takes no profile but a compiled one (bubblewrap).

Instructions and their layout are ``struct sock_filter`` of ``linux/filter.h``, the input is ``struct seccomp_data``
(seccomp(2)). Only the low 32 bits of arguments are compared: those that the kernel itself reads of these calls'.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from composer.runtime.seccomp import ENOSYS, EPERM, Condition, Profile
from composer.runtime.syscalls import NEWEST, numbers

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003}
_NUMBER, _ARCH, _ARGUMENT = 0, 4, 16  # offsets in seccomp_data; arguments are 8 bytes, little-endian
_LOAD, _JUMP, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x05, 0x15, 0x25, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000

Instruction = tuple[int, int, int, int]


def compiled(profile: Profile) -> bytes:
    """The filter for x86-64, arm64 and i386 programs; those of any other architecture get ENOSYS from every call."""
    code = [_load(_ARCH)]
    for architecture, audit in _AUDIT_ARCH.items():
        block = _architecture(profile, _known(architecture))
        code += [(_EQUAL, 1, 0, audit), (_JUMP, 0, 0, len(block)), *block]
    code.append(_fail(ENOSYS))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _known(architecture: str) -> dict[str, int]:
    return {name: row[architecture] for name, row in numbers().items() if architecture in row}


def _architecture(profile: Profile, known: Mapping[str, int]) -> list[Instruction]:
    code = [_load(_NUMBER), (_GREATER, 0, 1, NEWEST), _fail(ENOSYS)]
    for name, conditions in profile.conditional.items():
        if name in known:
            code += _only(known[name], _conditions(conditions))
    for name in profile.absent:
        if name in known:
            code += _only(known[name], [_fail(ENOSYS)])
    for first, last in _ranges(known[name] for name in profile.allowed if name in known):
        code += [(_AT_LEAST, 1, 0, first), _fail(EPERM), (_GREATER, 1, 0, last), (_RETURN, 0, 0, _ALLOW)]
    return [*code, _fail(EPERM)]


def _only(number: int, block: list[Instruction]) -> list[Instruction]:
    """``block``, which returns, for one call."""
    return [(_EQUAL, 0, len(block), number), *block]


def _conditions(conditions: Iterable[Condition]) -> list[Instruction]:
    code = [_load(_ARGUMENT)]
    for condition in conditions:
        test = _ANY_BIT if condition.kind == "none" else _EQUAL
        skip = (0, 1) if condition.kind == "equal" else (1, 0)
        code += [(test, *skip, condition.value), (_RETURN, 0, 0, _ALLOW)]
    return [*code, _fail(EPERM)]


def _ranges(values: Iterable[int]) -> list[tuple[int, int]]:
    """Runs of neighbours, ascending: [1, 2, 5] is [(1, 2), (5, 5)]."""
    found: list[tuple[int, int]] = []
    for value in sorted(values):
        if found and value == found[-1][1] + 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _fail(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)
