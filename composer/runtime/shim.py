"""The process beside each sandbox: mounts its root, runs its container, and removes everything when that ends.

Run as a script by ``python -I -S shim.py FOLDER REPORT LIFELINE LOCK``: standard library only, because its start is
part of the sandbox's. FOLDER/shim.json says what to do. LOCK is an inherited, locked file: the sandbox lives exactly
as long as it is locked. EOF on LIFELINE (-1: none) or SIGTERM ends the sandbox. REPORT gets the error and the log's
last lines before all is removed, and EOF at the end.
"""

# pathlib costs milliseconds to import, and there is one thread
# ruff: noqa: PTH101, PTH103, PTH120, PTH123, PLW1509

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_PRIVATE, _REC = 1 << 18, 1 << 14
_PDEATHSIG, _CAPBSET_DROP, _SUBREAPER = 1, 24, 36
_CAPABILITY_VERSION_3 = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


def _call(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    data = options.encode() or None
    _call(_libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, data), f"mount {kind} {target}")


def _namespaces(rootless: bool) -> None:
    uid, gid = os.getuid(), os.getgid()
    _call(_libc.unshare(_NEWNS | (_NEWUSER if rootless else 0)), "unshare")
    if rootless:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    _mount("none", "/", "", _PRIVATE | _REC, "")


def _root(plan: dict) -> None:  # type: ignore[type-arg]
    """The layers as one tree: by overlayfs, or where the kernel refuses that a copy, which the log says."""
    try:
        _overlay(plan)
    except OSError as error:
        print(f"sandbox: no overlay here ({error}); the layers are copied", file=sys.stderr, flush=True)  # noqa: T201
        os.chmod("root", 0o755)
        import runpy  # this is a script: it has no package to import from

        copy_layer = runpy.run_path(f"{os.path.dirname(__file__)}/layer_copy.py")["copy_layer"]
        for layer in reversed(plan["lower"].split(":")):
            copy_layer(layer, "root")


def _overlay(plan: dict) -> None:  # type: ignore[type-arg]
    """Mount the root; lower directories by short names relative to the current one, since options fit one page."""
    if plan["tmpfs"]:
        _mount("tmpfs", "rw", "tmpfs", 0, "mode=700")
    for name in ("rw/upper", "rw/work"):
        os.makedirs(name, exist_ok=True)
    os.chmod("rw/upper", 0o755)
    options = f"lowerdir={plan['lower']},upperdir=rw/upper,workdir=rw/work"
    _mount("overlay", "root", "overlay", 0, options + (",userxattr" if plan["rootless"] else ""))


def _child_setup() -> None:
    _libc.prctl(_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _bound(kept: list[int]) -> None:
    """Leave only ``kept`` in the capability bounding set, which bubblewrap run by root does not limit.

    The runtime itself needs more than that, and gets it as inheritable (capabilities(7), "execve() by root").
    """
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; the low 32 capabilities and the high ones
    _call(_libc.capget(header, data), "capget")
    data[2], data[5] = data[1], data[4]
    _call(_libc.capset(header, data), "capset")
    for number in range(64):
        if number not in kept:
            _libc.prctl(_CAPBSET_DROP, number, 0, 0, 0)  # fails for numbers that this kernel does not have


class _Container:
    """The runtime's process and the container's first process below it."""

    def __init__(self, plan: dict) -> None:  # type: ignore[type-arg]
        self._plan = plan
        self._info, info = os.pipe() if plan["info_fd"] else (-1, -1)
        seccomp = os.open("seccomp.bpf", os.O_RDONLY) if plan["info_fd"] else -1
        passed = {"@INFO@": info, "@SECCOMP@": seccomp} if plan["info_fd"] else {}
        argv = [str(passed.get(word, word)) for word in plan["argv"]]
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, pass_fds=list(passed.values()), preexec_fn=self._setup
        )
        for handle in passed.values():
            os.close(handle)
        self.pidfd = os.pidfd_open(self.process.pid)

    def _setup(self) -> None:
        _child_setup()
        if self._plan["bounding"]:
            _bound(self._plan["bounding"])

    def first_pid(self) -> int:
        """The container's first process as a number here; 0 while there is none."""
        if self._info >= 0 and "pid" not in self._plan:
            # The pipe stays open: bubblewrap writes more to it, and would die of SIGPIPE.
            self._plan["pid"] = _child_pid(self._info)
            _record(self._plan["pid"])
        if "pid" in self._plan:
            return int(self._plan["pid"])
        try:
            with open("pid", encoding="ascii") as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return 0

    def end(self, grace: float) -> None:
        """TERM to the first process; after ``grace`` seconds KILL, which ends all of its pid namespace."""
        for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
            pid = self.first_pid()
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid or self.process.pid, number)
            if select.select([self.pidfd], [], [], seconds)[0]:
                break
        self.process.kill()
        self.process.wait()


def _child_pid(info: int) -> int:
    """The number in ``{ "child-pid": 123``, the first of the pieces that bubblewrap writes; 0 when it ended before."""
    text = b""
    while piece := os.read(info, 4096):
        text += piece
        if found := re.search(rb'"child-pid": (\d+)', text):
            return int(found[1])
    return 0


def _record(pid: int) -> None:
    """Write number and start time, for who cleans up after this process was killed.

    Bubblewrap gives up the right to signal a container of another uid, so no parent-death signal ends that.
    """
    with contextlib.suppress(FileNotFoundError):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            started = file.read().rpartition(")")[2].split()[19]
        with open("container", "w", encoding="ascii") as file:
            file.write(f"{pid} {started}")


def _watch(container: _Container, lifeline: int, stop: int) -> None:
    poller = select.poll()
    for handle in (container.pidfd, stop, *([lifeline] if lifeline >= 0 else [])):
        poller.register(handle, select.POLLIN)
    poller.poll()


def _grace() -> float:
    try:
        with open("grace", encoding="ascii") as file:
            return float(file.read())
    except (OSError, ValueError):
        return 1.0


def _network(plan: dict, container: _Container) -> subprocess.Popen | None:  # type: ignore[type-arg]
    """User-mode networking joins the container's network namespace once that is there."""
    if not plan["network"]:
        return None
    deadline = time.monotonic() + 5
    while not (pid := container.first_pid()) and time.monotonic() < deadline and container.process.poll() is None:
        time.sleep(0.002)  # runc has no event for its pid file
    ready, write = os.pipe()
    words = {"@PID@": pid, "@READY@": write}
    argv = [str(words.get(word, word)) for word in plan["network"]]
    helper = subprocess.Popen(argv, stdin=subprocess.DEVNULL, pass_fds=[write], preexec_fn=_child_setup)
    os.close(write)
    up = "@READY@" not in plan["network"] or (select.select([ready], [], [], 10.0)[0] and os.read(ready, 1))
    os.close(ready)
    if not up:
        helper.kill()
        helper.wait()
        raise OSError(f"{argv[0]} ended before the network was up")
    _notify(plan, b"NETWORK=1")
    return helper


def _notify(plan: dict, word: bytes) -> None:  # type: ignore[type-arg]
    import socket  # few sandboxes need it

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.sendto(word, f"{plan['control']}/notify")


def _clean(plan: dict, folder: str) -> None:  # type: ignore[type-arg]
    if plan["delete"]:
        subprocess.run(plan["delete"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    os.chdir("/")
    _libc.umount2(f"{folder}/root".encode(), 2)
    if plan["tmpfs"]:
        _libc.umount2(f"{folder}/rw".encode(), 2)
    shutil.rmtree(plan["control"], ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _tell(report: int, text: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody waits any more
        os.write(report, f"{text}\n".encode())


def _last_lines() -> str:
    with open("log", encoding="utf-8", errors="replace") as file:
        return " | ".join(file.read()[-2000:].strip().splitlines()[-4:])[-600:]


def _run(folder: str, report: int, lifeline: int, stop: int) -> None:
    os.chdir(folder)
    with open("shim.json", encoding="utf-8") as file:
        plan = json.load(file)
    network = None
    try:
        _namespaces(plan["rootless"])
        os.chdir(folder)  # the old directory belongs to the old mount namespace
        _root(plan)
        container = _Container(plan)
        try:
            container.first_pid()  # on record before anything can kill this process
            network = _network(plan, container)
            _watch(container, lifeline, stop)
        finally:
            container.end(_grace())
    except OSError as error:
        _tell(report, str(error))
    finally:
        if network is not None:
            network.kill()
            network.wait()
        _tell(report, _last_lines())
        _clean(plan, folder)


def main() -> None:
    """Detach from the starter, whose reaping and process group are none of ours, and run."""
    folder, report, lifeline = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    if pid := os.fork():
        with open(f"{folder}/shim.pid", "w", encoding="ascii") as file:
            file.write(str(pid))
        os._exit(0)
    os.setsid()
    _libc.prctl(_SUBREAPER, 1)
    _run(folder, report, lifeline, stop)


if __name__ == "__main__":
    main()
