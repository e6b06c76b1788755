"""What a container is told to run with: an OCI config.json (runtime-spec 1.0), or bubblewrap's arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from composer.runtime.engine import Limits
from composer.runtime.limits import swap_accounted
from composer.runtime.passwd import Account
from composer.runtime.seccomp import default_profile, oci_seccomp

CAPABILITIES = {  # the defaults of container engines, by their numbers in linux/capability.h
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "NET_BIND_SERVICE": 10,
    "NET_RAW": 13,
    "SYS_CHROOT": 18,
    "MKNOD": 27,
    "AUDIT_WRITE": 29,
    "SETFCAP": 31,
}
_MASKED = (
    "/proc/acpi /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list /proc/timer_stats "
    "/proc/sched_debug /proc/scsi /sys/firmware"
)
_READ_ONLY = "/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger"
SECCOMP = "@SECCOMP@"
_DROP = (
    "import os,sys\n"
    "uid,gid,groups=int(sys.argv[1]),int(sys.argv[2]),sys.argv[3]\n"
    "rows=open('/proc/self/environ','rb').read().split(b'\\0')\n"
    "os.setgroups([int(x) for x in groups.split(',') if x]);os.setgid(gid);os.setuid(uid)\n"
    "os.execve(sys.argv[4],sys.argv[4:],dict(x.split(b'=',1) for x in rows if b'=' in x))\n"
)


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or directory of the host shown in the sandbox."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """A container, before a runtime's own way to say it. ``root`` is the merged directory on the host."""

    name: str
    root: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    account: Account
    cwd: str = "/"
    read_only: bool = False
    no_new_privileges: bool = True
    private_network: bool = True
    limits: Limits = field(default_factory=Limits)
    binds: Sequence[Bind] = ()
    scratch_tmp: bool = False
    rootless: bool = False


def runc_config(box: Container) -> dict[str, Any]:
    """config.json for runc and crun."""
    capabilities = [f"CAP_{name}" for name in CAPABILITIES]
    effective = capabilities if box.account.uid == 0 else []
    kinds = ["pid", "mount", "ipc", "uts", *(["network"] if box.private_network else [])]
    return {
        "ociVersion": "1.0.2",
        "hostname": box.name[:63],
        "root": {"path": box.root, "readonly": box.read_only},
        "process": {
            "terminal": False,
            "user": {"uid": box.account.uid, "gid": box.account.gid, "additionalGids": list(box.account.groups)},
            "args": list(box.argv),
            "env": [f"{key}={value}" for key, value in box.environment.items()],
            "cwd": box.cwd,
            "capabilities": {"bounding": capabilities, "effective": effective, "permitted": effective},
            "noNewPrivileges": box.no_new_privileges,
        },
        "mounts": _mounts(box),
        "linux": {
            "namespaces": [{"type": kind} for kind in kinds],
            "resources": {
                "devices": [{"allow": False, "access": "rwm"}, *_DEVICES],
                **resources(box.limits, swap=swap_accounted()),
            },
            "cgroupsPath": _cgroup(box),
            "seccomp": oci_seccomp(default_profile()),
            "maskedPaths": _MASKED.split(),
            "readonlyPaths": _READ_ONLY.split(),
        },
    }


def _cgroup(box: Container) -> str:
    """One for this sandbox alone: other stores on the machine may have its name too."""
    return f"/composer/{box.name}-{hashlib.sha256(bytes(Path(box.root).parent)).hexdigest()[:12]}"


_DEVICES = [
    {"allow": True, "type": "c", "major": major, "minor": minor, "access": "rwm"}
    for major, minor in ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2), (136, None))
]


def resources(limits: Limits, *, swap: bool) -> dict[str, Any]:
    """``linux.resources`` for the limits that are set; with ``swap`` memory's is one of memory and swap together."""
    found: dict[str, Any] = {}
    if limits.memory is not None:
        found["memory"] = {"limit": limits.memory, **({"swap": limits.memory} if swap else {})}
    if limits.cpus is not None:
        found["cpu"] = {"quota": int(limits.cpus * 100_000), "period": 100_000}
    if limits.pids is not None:
        found["pids"] = {"limit": limits.pids}
    return found


def _mount(target: str, kind: str, source: str, *options: str) -> dict[str, Any]:
    return {"destination": target, "type": kind, "source": source, "options": list(options)}


def _mounts(box: Container) -> list[dict[str, Any]]:
    safe = ("nosuid", "noexec", "nodev")
    rows = [
        _mount("/proc", "proc", "proc", *safe),
        _mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        _mount(
            "/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"
        ),
        _mount("/dev/shm", "tmpfs", "shm", *safe, "mode=1777", "size=65536k"),
        _mount("/dev/mqueue", "mqueue", "mqueue", *safe),
    ]
    if box.private_network:  # sysfs shows the network namespace's owner; without a new one the kernel refuses it
        rows.append(_mount("/sys", "sysfs", "sysfs", *safe, "ro"))
    if box.scratch_tmp:
        rows.append(_mount("/tmp", "tmpfs", "tmpfs", "nosuid", "nodev", "mode=1777"))
    for bind in box.binds:
        rows.append(_mount(bind.target, "bind", bind.source, "rbind", "rprivate", *(["ro"] if bind.read_only else [])))
    return rows


def bwrap_arguments(box: Container) -> list[str]:
    """Arguments for bubblewrap 0.4 and later; it always sets no_new_privs and has no resource limits.

    `SECCOMP` among them stands for a descriptor from which it reads the compiled filter.
    """
    line = ["--bind", box.root, "/", "--dev", "/dev", "--proc", "/proc", "--perms", "1777", "--tmpfs", "/dev/shm"]
    if box.scratch_tmp:
        line += ["--perms", "1777", "--tmpfs", "/tmp"]
    for bind in box.binds:
        line += ["--ro-bind" if bind.read_only else "--bind", bind.source, bind.target]
    line += ["--dir", box.cwd, "--chdir", box.cwd]
    if box.read_only:
        line += ["--remount-ro", "/"]
    line += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", box.name[:63], "--as-pid-1"]
    line += ["--unshare-net"] if box.private_network else []
    line += ["--die-with-parent", "--new-session", "--seccomp", SECCOMP, "--cap-drop", "ALL"]
    for name in CAPABILITIES:
        line += ["--cap-add", f"CAP_{name}"]
    line.append("--clearenv")
    for key, value in box.environment.items():
        line += ["--setenv", key, value]
    return [*line, "--", *_as_user(box)]


def _as_user(box: Container) -> list[str]:
    """The command, begun by the runtime's Python that becomes the user: as root bubblewrap cannot change the uid."""
    who = box.account
    if who.uid == 0 and who.gid == 0 and not who.groups:
        return list(box.argv)
    groups = ",".join(str(number) for number in who.groups)
    return [box.argv[0], "-I", "-c", _DROP, str(who.uid), str(who.gid), groups, *box.argv]
