"""Gates that start the prefix's programs in roots made for the purpose, with chroot(2) and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from composer.env.gates.report import Gate, gate

_LIMIT = 60.0
_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib")
_POISON = {
    "LD_PRELOAD": "/decoy/libdecoy.so",
    "LD_LIBRARY_PATH": "/lib:/lib64:/usr/lib:/usr/lib64",
    "LD_AUDIT": "/decoy/libdecoy.so",
    "LD_DEBUG": "all",
    "LD_BIND_NOW": "1",
    "GLIBC_TUNABLES": "glibc.rtld.nns=garbage",
    "GCONV_PATH": "/decoy",
    "LOCPATH": "/decoy",
    "PYTHONHOME": "/decoy",
    "PYTHONPATH": "/decoy",
}
# RTLD_NOW finds a symbol version that the private glibc is too old for; an extension's code is not run
_PROGRAM = """
import ctypes, json, locale, os, sys
bad = []
for name in sys.stdin.read().split("\\0"):
    try:
        name and ctypes.CDLL(name, os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        bad.append(str(error))
locale.setlocale(locale.LC_ALL, "C.UTF-8")
codec = ctypes.CDLL("libc.so.6")
codec.iconv_open.restype = ctypes.c_void_p
if codec.iconv_open(b"UTF-16", b"UTF-8") in (None, 2**64 - 1):
    bad.append("iconv has no UTF-16")
bad += [p for p in sys.path if not p.startswith(sys.argv[1])]
print(json.dumps({"bad": bad, "preload": os.environ.get("LD_PRELOAD")}))
"""
# What of a base the runtime may look at: the user's network, names and time zone
_SHARED = re.compile(r"/|/(proc|dev|sys)(/.*)?|/etc/(hosts|resolv\.conf|host\.conf|passwd|group|localtime|gai\.conf)")
_CALL = re.compile(r'\d+ +(\w+)\((?:AT_FDCWD, )?"([^"]*)"')


@dataclass(frozen=True, slots=True)
class _Run:
    status: int
    output: str
    errors: str


def start_gates(root: Path, place: str) -> list[Gate]:
    """Start in an empty root, start among decoys and poisoned variables, and trace the files that are opened."""
    names = ("starts in an empty root", "ignores the base's libraries and LD_* variables", "opens no file of the base")
    if why := _cannot_chroot():
        return [Gate(name, True, f"not tried: {why}", tried=False) for name in names]
    with _roots(root, place) as (empty, decoys):
        return [
            _empty_gate(names[0], empty, root, place),
            _decoy_gate(names[1], decoys, root, place),
            _trace_gate(names[2], decoys, root, place),
        ]


def _empty_gate(name: str, where: Path, root: Path, place: str) -> Gate:
    extensions = _extensions(root, place)
    problems = _problems(_python(where, place, extensions, {}))
    if (root / "bin" / "bash").exists():
        done = _run(where, [f"{place}/bin/bash", "-c", "echo $((6 * 7))"], "", {})
        problems += [] if done.output == "42\n" else [f"bash: {_last(done)}"]
    return gate(name, problems, f"Python, with {len(extensions)} extension modules loaded, and bash")


def _decoy_gate(name: str, where: Path, root: Path, place: str) -> Gate:
    done = _python(where, place, _extensions(root, place), _POISON)
    problems = _problems(done) + ([f"stderr: {_last(done)}"] if done.errors else [])
    if not problems and json.loads(done.output)["preload"] != _POISON["LD_PRELOAD"]:
        problems.append("LD_PRELOAD was taken from the environment, which belongs to the user's programs")
    return gate(name, problems, f"decoys in {', '.join('/' + folder for folder in _FOLDERS)} were left alone")


def _trace_gate(name: str, where: Path, root: Path, place: str) -> Gate:
    strace = shutil.which("strace")
    if strace is None:
        return Gate(name, True, "not tried: strace is not on PATH; the decoys say the same of libraries", tried=False)
    log = where.parent / "trace"
    command = [strace, "-f", "-qq", "-e", "trace=%file", "-o", str(log)]
    done = _python(where, place, _extensions(root, place), _POISON, command)
    if not log.exists() or (done.status and not done.output):
        return Gate(name, True, f"not tried: strace failed ({_last(done)})", tried=False)
    paths = traced_paths(log.read_text(errors="replace"))
    foreign = [p for p in paths if not p.startswith(place + "/") and p != place and not _SHARED.fullmatch(p)]
    return gate(name, sorted(set(foreign)), f"{len(paths)} calls, all on the prefix")


def traced_paths(log: str) -> list[str]:
    """Absolute paths of file calls after chroot(2), of the output of ``strace -f -e trace=%file -o``."""
    found, inside = [], False
    for line in log.splitlines():
        call = _CALL.match(line)
        if call is None:
            continue
        if inside and call[2].startswith("/"):
            found.append(call[2])
        inside = inside or (call[1] == "chroot" and line.endswith("= 0"))
    return found


def _python(
    where: Path, place: str, extensions: list[str], environment: Mapping[str, str], wrapper: list[str] | None = None
) -> _Run:
    command = [f"{place}/bin/python3", "-I", "-B", "-c", _PROGRAM, place]
    return _run(where, command, "\0".join(extensions), environment, wrapper)


def _run(
    where: Path, command: list[str], text: str, environment: Mapping[str, str], wrapper: list[str] | None = None
) -> _Run:
    """Run a command in a root with exactly the variables of ``environment``."""
    # The poison must not reach chroot itself, which the host's loader starts
    inner = [*_chroot(where), *(_with_variables(environment, command) if environment else command)]
    done = subprocess.run(
        [*(wrapper or []), *inner],
        input=text,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=_LIMIT,
        check=False,
    )
    return _Run(done.returncode, done.stdout, done.stderr)


def _with_variables(environment: Mapping[str, str], command: list[str]) -> list[str]:
    """The private Python sets the variables and becomes the command: the second start is the one that matters."""
    program = "import os, sys, json; os.execve(sys.argv[2], sys.argv[2:], json.loads(sys.argv[1]))"
    return [command[0], "-I", "-B", "-c", program, json.dumps(dict(environment)), *command]


def _chroot(where: Path) -> list[str]:
    if os.geteuid() == 0:
        return ["chroot", str(where)]
    return ["unshare", "--map-root-user", "--root", str(where)]


def _cannot_chroot() -> str:
    """Why programs cannot be started in another root here; empty when they can."""
    if os.geteuid() == 0:
        return ""
    try:
        done = subprocess.run(["unshare", "--map-root-user", "true"], capture_output=True, check=False)
    except OSError:
        return "unshare is not installed and this user may not chroot"
    return "this user may not make a user namespace" if done.returncode else ""


@contextmanager
def _roots(root: Path, place: str) -> Iterator[tuple[Path, Path]]:
    """Two roots with the prefix in each, linked where possible: one else empty, one with decoys."""
    parent = root.parent if os.access(root.parent, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="verify-", dir=parent) as folder:
        empty, decoys = Path(folder, "empty"), Path(folder, "decoys")
        for where in (empty, decoys):
            where.mkdir()
            shutil.copytree(root, where / place[1:], symlinks=True, copy_function=_link)
        _lay_decoys(root, decoys)
        yield empty, decoys


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _lay_decoys(root: Path, where: Path) -> None:
    """Files that stop any loader that takes them, at every place where a base has its libraries."""
    names = [path.name for path in (root / "lib").iterdir() if ".so" in path.name]
    triplets = [f"{folder}/{machine}-linux-gnu" for folder in ("lib", "usr/lib") for machine in ("x86_64", "aarch64")]
    for folder in (*_FOLDERS, *triplets, "decoy"):
        (where / folder).mkdir(parents=True, exist_ok=True)
        for name in (*names, "libdecoy.so"):
            (where / folder / name).write_text("not a library\n")
    (where / "etc").mkdir()
    for name in ("ld.so.cache", "ld.so.preload", "nsswitch.conf"):
        (where / "etc" / name).write_text("/decoy/libdecoy.so\n")


def _extensions(root: Path, place: str) -> list[str]:
    found = sorted(root.glob("lib/python3.*/**/*.cpython-*.so"))
    return [f"{place}/{path.relative_to(root)}" for path in found]


def _problems(done: _Run) -> list[str]:
    if done.status or not done.output:
        return [f"status {done.status}: {_last(done)}"]
    return [str(row) for row in json.loads(done.output)["bad"]]


def _last(done: _Run) -> str:
    lines = (done.errors or done.output).strip().splitlines()
    return lines[-1][-200:] if lines else "no output"
