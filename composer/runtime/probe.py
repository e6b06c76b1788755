"""Which of crun, runc and bubblewrap works here: the first that *runs* a container, not the first that is installed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from composer.errors import EngineMissingError
from composer.runtime.bpf import compiled
from composer.runtime.engine import Probe
from composer.runtime.passwd import Account
from composer.runtime.seccomp import default_profile
from composer.runtime.spec import SECCOMP, Bind, Container, bwrap_arguments, runc_config
from composer.store.replace import replace_file
from composer.store.store import Store

FILTER = "seccomp.bpf"
PROGRAMS = {"crun": "crun", "runc": "runc", "bubblewrap": "bwrap"}
_PATH = f"{os.defpath}:/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin"
_NOTES = {"bubblewrap": "; without resource limits, and no_new_privs cannot be lifted"}


def program_path(name: str) -> str | None:
    """The program's path; distributions keep runc in /usr/sbin, which users' PATH may lack."""
    return shutil.which(PROGRAMS[name], path=f"{os.environ.get('PATH', '')}:{_PATH}")


def choose(store: Store, order: Sequence[str] = tuple(PROGRAMS)) -> str:
    """The first program that works, by what an earlier probe found since boot; raises `EngineMissingError`."""
    reasons = []
    for name in order:
        probe = _cached(store, name)
        if probe.works:
            return name
        reasons.append(f"{name} ({probe.detail})")
    raise EngineMissingError(
        "the embedded engine", f"no container runs here: {', '.join(reasons)}", "install runc or bubblewrap"
    )


def probe_all(store: Store) -> list[Probe]:
    """Probe every program anew."""
    return [_probed(store, name) for name in PROGRAMS]


def _key(name: str) -> str | None:
    path = program_path(name)
    if path is None:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"2 {boot} {path} {os.stat(path).st_mtime_ns} {os.geteuid()}"  # noqa: PTH116


def _cached(store: Store, name: str) -> Probe:
    try:
        found = json.loads((store.root / "sandboxes" / f".probe-{name}-{os.geteuid()}").read_text())
        if found["key"] == _key(name) is not None:
            return Probe(**found["probe"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return _probed(store, name)


def _probed(store: Store, name: str) -> Probe:
    key = _key(name)
    if key is None:
        return Probe(name, False, "is not installed", name)
    failure = run_probe(name)
    probe = Probe(name, failure is None, failure or "ran a container" + _NOTES.get(name, ""), name)
    path = store.root / "sandboxes" / f".probe-{name}-{os.geteuid()}"
    replace_file(path, json.dumps({"key": key, "probe": asdict(probe)}).encode())
    return probe


def run_probe(name: str) -> str | None:
    """Run ``true`` of this machine in a container; why that failed, or None."""
    folder = Path(tempfile.mkdtemp(prefix="oc-probe-"))
    try:
        root = folder / "root"
        root.mkdir()
        binds = [Bind(os.path.realpath(x), x, True) for x in ("/usr", "/bin", "/lib", "/lib64") if Path(x).exists()]
        true = shutil.which("true") or "/bin/true"
        box = Container(folder.name, str(root), [true], {}, Account(0, 0, (), "/"), binds=binds)
        line = probe_command(name, box, folder)
        done = _run(line, folder)
        text = done.stderr.decode(errors="replace").strip()
        return None if done.returncode == 0 else (text.splitlines() or [f"exit status {done.returncode}"])[-1][:200]
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(line: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    with contextlib.ExitStack() as stack:
        passed = []
        if SECCOMP in line:
            passed = [stack.enter_context((folder / FILTER).open("rb")).fileno()]
            line = [str(passed[0]) if word == SECCOMP else word for word in line]
        return subprocess.run(
            line, capture_output=True, stdin=subprocess.DEVNULL, timeout=20, check=False, pass_fds=passed
        )


def probe_command(name: str, box: Container, folder: Path) -> list[str]:
    """The argv that runs ``box`` with ``name`` in the foreground; writes what it reads to ``folder``."""
    path = program_path(name) or name
    if name == "bubblewrap":
        rootless = ["--unshare-user", "--uid", "0", "--gid", "0"] if os.geteuid() != 0 and not box.rootless else []
        (folder / FILTER).write_bytes(compiled(default_profile()))
        return [path, *rootless, *bwrap_arguments(box)]
    (folder / "config.json").write_text(json.dumps(runc_config(box)))
    return [path, "--root", str(folder / "runc"), "run", "--bundle", str(folder), box.name]
