"""A real dockerd on a private unix socket: its own data, containerd and bridge; stopped by pid, leaves nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.skip import unavailable

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


@contextmanager
def dockerd(*arguments: str, network: bool = True) -> Iterator[str]:
    """Start dockerd with extra ``arguments``; yields its ``unix://`` host. Without ``network`` it has no bridge."""
    program = shutil.which("dockerd", path=_PATH)
    if program is None:
        unavailable("dockerd is not installed (Debian: docker.io)")
    if os.geteuid() != 0:
        unavailable("dockerd needs root")
    # Short, because containerd's sockets below exec-root must fit into sun_path.
    folder = Path(tempfile.mkdtemp(prefix="ocd-", dir="/tmp"))
    bridge = _bridge(folder) if network else None
    log = folder / "log"
    try:
        with log.open("wb") as out:
            process = subprocess.Popen(
                [program, *_arguments(folder, bridge), *arguments],
                stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "PATH": _PATH}, start_new_session=True,
            )  # fmt: skip
        try:
            _wait(folder / "docker.sock", process, log)
            yield f"unix://{folder}/docker.sock"
        finally:
            _stop(process)
    finally:
        if bridge is not None:
            subprocess.run(["ip", "link", "delete", bridge], check=False, capture_output=True, env={"PATH": _PATH})
        _unmount(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _arguments(folder: Path, bridge: str | None) -> list[str]:
    # containerd takes no name that has two underscores or ends in one, and mkdtemp makes such names.
    namespace = "ocd-" + hashlib.sha256(folder.name.encode()).hexdigest()[:12]
    return [
        f"--host=unix://{folder}/docker.sock",
        f"--data-root={folder}/data",
        f"--exec-root={folder}/exec",
        f"--pidfile={folder}/pid",
        f"--bridge={bridge or 'none'}",
        "--iptables=false",  # the rules are the machine's; ports are published by docker-proxy
        f"--containerd-namespace={namespace}",
        f"--containerd-plugins-namespace={namespace}-plugins",
    ]


def _bridge(folder: Path) -> str:
    """A bridge with a subnet of its own, so that daemons side by side do not give out the same addresses."""
    number = int.from_bytes(hashlib.sha256(folder.name.encode()).digest()[:2])
    name = f"ocd{number:05d}"
    address = f"10.{200 + number % 50}.{number >> 8}.1/24"
    for command in (
        ["link", "add", name, "type", "bridge"],
        ["addr", "add", address, "dev", name],
        ["link", "set", name, "up"],
    ):
        made = subprocess.run(["ip", *command], capture_output=True, text=True, check=False, env={"PATH": _PATH})
        if made.returncode != 0:
            unavailable(f"a bridge cannot be made: ip {' '.join(command)}: {made.stderr.strip()}")
    return name


def _wait(path: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        answer = subprocess.run(
            ["curl", "-sf", "--unix-socket", str(path), "http://docker/_ping"], capture_output=True, check=False
        )
        if answer.stdout == b"OK":
            return
        if process.poll() is not None or time.monotonic() > deadline:
            unavailable(f"dockerd does not start here: {log.read_text(errors='replace')[-400:]}")
        time.sleep(0.05)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _unmount(folder: Path) -> None:
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in sorted((x for x in mounts if x.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)


@pytest.fixture(scope="session")
def docker_host() -> Iterator[str]:
    """The host of one dockerd for the whole test session."""
    with dockerd() as host:
        yield host
