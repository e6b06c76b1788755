from __future__ import annotations

import struct

import pytest

from composer.runtime.bpf import compiled
from composer.runtime.seccomp import default_profile
from composer.runtime.syscalls import numbers

ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x50001, 0x50026
X86_64, AARCH64, I386, ARM = 0xC000003E, 0xC00000B7, 0x40000003, 0x40000028
AUDIT = {"x86_64": X86_64, "aarch64": AARCH64, "i386": I386}
PROGRAM = list(struct.iter_unpack("<HBBI", compiled(default_profile((6, 1)))))


def decide(arch: int, number: int, argument: int = 0) -> int:
    """What the kernel's interpreter answers (linux/filter.h)."""
    data = struct.pack("<IIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    tests = {0x15: int.__eq__, 0x25: int.__gt__, 0x35: int.__ge__, 0x45: lambda a, k: a & k != 0}
    at = accumulator = 0
    while True:
        code, jt, jf, k = PROGRAM[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif code == 0x05:
            at += k
        elif code == 0x06:
            return int(k)
        else:
            at += jt if tests[code](accumulator, k) else jf


@pytest.mark.parametrize("architecture", AUDIT)
def test_each_call_is_decided_by_its_name(architecture: str) -> None:
    profile = default_profile((6, 1))
    allowed = {row[architecture] for name, row in numbers().items() if name in profile.allowed and architecture in row}
    special = {*profile.conditional, *profile.absent}
    others = {row[architecture] for name, row in numbers().items() if name in special and architecture in row}
    for number in set(range(467)) - others:
        assert decide(AUDIT[architecture], number) == (ALLOW if number in allowed else EPERM)


@pytest.mark.parametrize(
    ("arch", "number", "argument", "answer"),
    [
        pytest.param(X86_64, 56, 17, ALLOW, id="fork"),
        pytest.param(X86_64, 56, 0x3D0F00, ALLOW, id="thread"),
        pytest.param(X86_64, 56, 0x10000011, EPERM, id="clone into a user namespace"),
        pytest.param(AARCH64, 220, 0x20000, EPERM, id="clone into a mount namespace"),
        pytest.param(X86_64, 435, 0, ENOSYS, id="clone3"),
        pytest.param(X86_64, 41, 40, EPERM, id="vsock"),
        pytest.param(X86_64, 41, (1 << 32) | 40, EPERM, id="vsock in the bits that count"),
        pytest.param(I386, 359, 2, ALLOW, id="inet"),
        pytest.param(X86_64, 135, 0xFFFFFFFF, ALLOW, id="ask personality"),
        pytest.param(X86_64, 135, 0x40000, EPERM, id="no randomization"),
        pytest.param(X86_64, 467, 0, ENOSYS, id="newer"),
        pytest.param(X86_64, 0x40000001, 0, ENOSYS, id="x32"),
        pytest.param(ARM, 1, 0, ENOSYS, id="unknown architecture"),
    ],
)
def test_arguments(arch: int, number: int, argument: int, answer: int) -> None:
    assert decide(arch, number, argument) == answer
