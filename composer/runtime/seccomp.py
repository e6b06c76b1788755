"""The default seccomp filter, as container engines have it: an allow-list with conditions on a few calls' arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from composer.runtime.syscalls import ARM_ONLY, numbers

EPERM, ENOSYS = 1, 38
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
_ARCHITECTURES = {"x86_64": ("X86_64", "X86"), "aarch64": ("AARCH64", "ARM")}
_AF_VSOCK = 40  # reaches the host of a virtual machine
# PER_LINUX, PER_LINUX32 and UNAME26 with them (personality(2)), and the question what is set
_PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)
# Before 4.8 a tracer could change the call after the filter had seen it.
_TRACING, _TRACING_SINCE = ("process_vm_readv", "process_vm_writev", "ptrace"), (4, 8)


@dataclass(frozen=True, slots=True)
class Condition:
    """What the first argument must be: ``equal`` or ``unequal`` to ``value``, or with ``none`` of its bits."""

    kind: Literal["equal", "unequal", "none"]
    value: int


@dataclass(frozen=True, slots=True)
class Profile:
    """``allowed`` calls; ``conditional`` ones, when one of their conditions holds; ``absent`` ones fail with ENOSYS.

    All others fail with EPERM.
    """

    allowed: tuple[str, ...]
    conditional: dict[str, tuple[Condition, ...]]
    absent: tuple[str, ...]


def default_profile(kernel: tuple[int, int] | None = None) -> Profile:
    """The profile for ``kernel`` (major, minor), else for the one that runs."""
    conditional = {
        "clone": (Condition("none", _NAMESPACES),),
        "personality": tuple(Condition("equal", value) for value in _PERSONALITIES),
        "socket": (Condition("unequal", _AF_VSOCK),),
    }
    # clone3 hides its flags behind a pointer: ENOSYS makes libc fall back to clone, whose flags can be seen.
    absent = ("clone3",)
    refused = () if (kernel or _running_kernel()) >= _TRACING_SINCE else _TRACING
    special = {*conditional, *absent, *refused}
    return Profile(tuple(name for name in numbers() if name not in special), conditional, absent)


def oci_seccomp(profile: Profile, machine: str | None = None) -> dict[str, Any]:
    """The ``linux.seccomp`` object of runtime-spec 1.0 (config-linux.md, "Seccomp") for this machine.

    Only what its CPU runs is named: each architecture more costs 7 ms of every start, in runc's libseccomp.
    """
    rules = [_rule([*profile.allowed, *ARM_ONLY], "SCMP_ACT_ALLOW")]
    for name, conditions in profile.conditional.items():
        rules += [_rule([name], "SCMP_ACT_ALLOW", args=[_argument(condition)]) for condition in conditions]
    rules += [_rule([name], "SCMP_ACT_ERRNO", errnoRet=ENOSYS) for name in profile.absent]
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "architectures": [f"SCMP_ARCH_{name}" for name in _ARCHITECTURES[machine or os.uname().machine]],
        "syscalls": rules,
    }


def _rule(names: list[str], action: str, **more: Any) -> dict[str, Any]:
    return {"names": names, "action": action, **more}


def _argument(condition: Condition) -> dict[str, Any]:
    if condition.kind == "none":  # in runtime-spec ``value`` is the mask
        return {"index": 0, "value": condition.value, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    return {"index": 0, "value": condition.value, "op": "SCMP_CMP_EQ" if condition.kind == "equal" else "SCMP_CMP_NE"}


def _running_kernel() -> tuple[int, int]:
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int(minor.partition("-")[0])
