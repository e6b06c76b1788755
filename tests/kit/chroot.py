"""A plain chroot with chosen mounts: for what no engine would leave out (no /proc, no /dev/shm), and for strace."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_SCRIPT = """
set -e
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$FOLDER/upper,workdir=$FOLDER/work" "$FOLDER/root"
cd "$FOLDER/root"
mkdir -p dev proc tmp .oc/run
chmod 1777 tmp
if [ -n "$PROC" ]; then mount -t proc proc proc; fi
mount -t tmpfs -o mode=755 dev dev
for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mkdir dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
if [ -n "$SHM" ]; then mkdir dev/shm; mount -t tmpfs -o mode=1777 shm dev/shm; fi
mount --bind "$CONTROL" .oc/run
if [ -n "$READ_ONLY" ]; then mount -o remount,ro,bind "$FOLDER/root" || mount -o remount,ro "$FOLDER/root"; fi
exec "$@"
"""


@dataclass(frozen=True)
class Chroot:
    """What the root looks like: lower directories, top first, and which mounts it has."""

    lower: Sequence[Path]
    proc: bool = True
    shm: bool = True
    read_only: bool = False
    uid: int = 0
    env: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def started(
    root: Chroot, argv: Sequence[str], wrapper: Sequence[str] = ()
) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Start ``argv`` in the chroot, under ``wrapper`` (strace); yields the control directory, the agent being ready."""
    # Short: the agent's socket must fit into sun_path, 108 bytes.
    folder = Path(tempfile.mkdtemp(prefix="oc-", dir="/tmp"))
    control = folder / "control"
    for name in ("upper", "work", "root", "control"):
        (folder / name).mkdir()
    os.chown(control, root.uid, root.uid)
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(str(control / "notify"))
    (control / "notify").chmod(0o777)
    notify.settimeout(20)
    process = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _SCRIPT, "chroot", *wrapper, "env", "-i",
         *(f"{name}={value}" for name, value in root.env.items()), "/usr/sbin/chroot",
         f"--userspec={root.uid}:{root.uid}", str(folder / "root"), *argv],
        env=_environment(root, folder, control),
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert notify.recv(256).startswith(b"READY=1")
        yield control, process
    finally:
        _kill_children(process.pid)
        process.kill()
        process.wait()
        notify.close()
        shutil.rmtree(folder, ignore_errors=True)


def _kill_children(pid: int) -> None:
    """Kill the namespace's first process, and all in it with it: `--kill-child` is lost when the child changes uid."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


def _environment(root: Chroot, folder: Path, control: Path) -> dict[str, str]:
    flags = {"PROC": root.proc, "SHM": root.shm, "READ_ONLY": root.read_only}
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LOWER": ":".join(str(path) for path in root.lower),
        "FOLDER": str(folder),
        "CONTROL": str(control),
        **{name: "1" if value else "" for name, value in flags.items()},
    }
