"""The runtime opens nothing of the base, and the image's variables are for the user's programs alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from composer import Sandbox
from composer.client.sandbox import StartOptions
from composer.store.store import Store
from tests.kit.bases import MATRIX, KnownBase, shared
from tests.kit.chroot import Chroot, started
from tests.kit.composed import lower_directories

pytestmark = [pytest.mark.root, pytest.mark.slow]

AGENT = ["/.oc/bin/python3", "-I", "/.oc/agent.pyz"]
POISON = {
    "LD_PRELOAD": "/tmp/nothing.so",
    "LD_LIBRARY_PATH": "/lib:/usr/lib",
    "PYTHONHOME": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
# What the runtime may read of a base: names and addresses, users, its time zone.
ALLOWED = re.compile(r"/etc/(hosts|resolv\.conf|host\.conf|passwd|group|localtime|nsswitch\.conf)")
LIBRARY = re.compile(r"^/(usr/)?(local/)?lib(32|64|x32)?/|\.so(\.|$)|^/etc/ld\.so|/locale|/gconv")


def opened(trace: str) -> list[str]:
    """The absolute paths that were opened with success, from strace's output, once the runtime's Python runs."""
    _, _, since = trace.partition('execve("/.oc/bin/python3"')
    return [m[1] for m in re.finditer(r'open(?:at)?\((?:AT_FDCWD, )?"(/[^"]*)"[^\n]*= \d', since)]


@pytest.mark.parametrize("base", MATRIX, ids=lambda base: base.name)
async def test_no_library_or_locale_of_the_base_is_opened(base: KnownBase, core_store: Store, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-qq", "-e", "trace=open,openat,execve", "-o", str(trace)]
    lower = lower_directories(base.reference(), core_store)
    with started(Chroot(lower, env=POISON), AGENT, strace) as (control, _):
        async with Sandbox.connect(f"ipc://{control}/agent.sock") as box:
            assert (await box.exec(["/.oc/bin/python3", "-I", "-c", "import zmq, ssl, socket"])).exit_code == 0
            await box.shutdown()
    paths = opened(trace.read_text())
    assert any(path.startswith("/.oc/lib/") for path in paths)
    outside = [p for p in paths if not p.startswith(("/.oc/", "/proc/", "/dev/")) and not ALLOWED.fullmatch(p)]
    assert [path for path in outside if LIBRARY.search(path)] == []


@pytest.mark.parametrize("lacking", ["proc", "shm"])
@pytest.mark.parametrize("base", MATRIX, ids=lambda base: base.name)
async def test_without_proc_or_shm(base: KnownBase, lacking: str, core_store: Store) -> None:
    lower = lower_directories(base.reference(), core_store)
    root = Chroot(lower, proc=lacking != "proc", shm=lacking != "shm", env=POISON, uid=4242)
    with started(root, AGENT) as (control, _):
        async with Sandbox.connect(f"ipc://{control}/agent.sock") as box:
            ran = await box.run("echo $((6 * 7)); exit_code() { return 5; }; exit_code")
            assert (ran.output, ran.exit_code) == ("42\n", 5)
            executed = await box.exec(["/.oc/bin/python3", "-I", "-c", "print(1)"])
            assert executed.stdout == "1\n"


async def test_variables_of_the_image_reach_programs_and_not_the_runtime(core_store: Store) -> None:
    poison = {**POISON, "LC_ALL": "xx_XX.UTF-8", "MINE": "a b"}
    options = StartOptions(variables={name: value for name, value in poison.items() if name != "LD_PRELOAD"})
    async with Sandbox.start(shared("alpine-3.20.3"), options=options, store=core_store) as box:
        seen = dict(line.split("=", 1) for line in (await box.exec(["/usr/bin/env"])).stdout.splitlines())
        for name, value in options.variables.items():
            assert seen[name] == value
        assert set(seen) <= {*options.variables, "HOSTNAME", "HOME"}
        in_shell = dict(
            line.split("=", 1) for line in (await box.run("/usr/bin/env")).output.splitlines() if "=" in line
        )
        documented = {"TERM", "PAGER", "GIT_PAGER", "PWD", "OLDPWD", "SHLVL", "_"}
        assert set(in_shell) - set(seen) <= documented
        runtime = await box.exec(["/.oc/bin/python3", "-I", "-c", "import sys; print(sys.prefix)"])
        assert runtime.stdout == "/.oc\n"
