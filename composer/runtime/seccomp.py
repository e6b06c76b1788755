"""The default seccomp profile as data: calls are allowed, unless they are listed here.

Container engines list what is allowed (some 360 names); this table lists what their defaults leave out, with the
capability that would allow it. ENOSYS for calls newer than the table's lists is not needed this way: an unknown call
is the kernel's own to refuse. A deny list is weaker against calls that do not exist yet: namespaces and
capabilities bound those.
"""

from __future__ import annotations

from typing import Any

_EPERM, _ENOSYS = 1, 38
_DENIED = [
    "acct",
    "add_key",
    "bpf",
    "clock_adjtime",
    "clock_adjtime64",
    "clock_settime",
    "clock_settime64",
    "create_module",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "get_kernel_syms",
    "get_mempolicy",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mbind",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
    "query_module",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "set_mempolicy",
    "setns",
    "settimeofday",
    "stime",
    "swapoff",
    "swapon",
    "sysfs",
    "_sysctl",
    "syslog",
    "umount",
    "umount2",
    "unshare",
    "uselib",
    "userfaultfd",
    "ustat",
    "vhangup",
    "vm86",
    "vm86old",
]
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
_READ_IMPLIES_EXEC, _PERSONALITY_QUERY = 0x00400000, 0x80000000


def default_profile() -> dict[str, Any]:
    """The ``linux.seccomp`` object of runtime-spec 1.0 (config-linux.md, "Seccomp"), for x86-64 and arm64."""
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32", "SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
        "syscalls": [
            _rule(_DENIED, _EPERM),
            # clone3 hides its flags behind a pointer: ENOSYS makes libc fall back to clone, whose flags can be seen.
            _rule(["clone3"], _ENOSYS),
            *(_rule(["clone"], _EPERM, _masked(bit)) for bit in _bits(_NAMESPACES)),
            _rule(["personality"], _EPERM, _masked(_READ_IMPLIES_EXEC, _READ_IMPLIES_EXEC | _PERSONALITY_QUERY)),
            _rule(["socket"], _EPERM, {"index": 0, "value": 40, "op": "SCMP_CMP_EQ"}),  # AF_VSOCK reaches the host
        ],
    }


def _rule(names: list[str], errno: int, *arguments: dict[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno}
    return {**rule, "args": list(arguments)} if arguments else rule


def _bits(mask: int) -> list[int]:
    return [1 << number for number in range(32) if mask & (1 << number)]


def _masked(value: int, mask: int | None = None) -> dict[str, Any]:
    """Matches when the bits of ``mask`` are ``value``'s; in runtime-spec ``value`` is the mask."""
    return {"index": 0, "value": value if mask is None else mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
