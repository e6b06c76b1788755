"""Which system calls and privileges a sandbox has."""

from __future__ import annotations

import errno
import platform

import pytest

from composer.errors import EngineError
from tests.kit.box import Starter, python

pytestmark = [pytest.mark.root, pytest.mark.slow]

# Each call with arguments that give another answer than the expected one where no filter is.
CALLS = """
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(*(ctypes.c_long(x) for x in (number, *arguments)))
    return ctypes.get_errno()
def child(number, *arguments):
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os._exit(call(number, *arguments))
print(json.dumps({
    "unshare": child(272, 0x10000000), "mount": call(165, 0, 0, 0, 0, 0), "keyctl": call(250, 0, -4, 1),
    "bpf": call(321, 0, 0, 0), "clone newuser": call(56, 0x10000000 | 17, 0, 0, 0, 0), "clone3": call(435, 0, 0),
    "io_uring_setup": call(425, 1, 0), "vsock": call(41, 40, 1, 0), "inet": call(41, 2, 1, 0),
    "personality": child(135, 0x0400000), "ask personality": child(135, 0xFFFFFFFF),
    "traceme": child(101, 0, 0, 0, 0), "newer": call(999, 0),
}))
"""
EXPECTED = {
    **dict.fromkeys(["unshare", "mount", "keyctl", "bpf", "clone newuser"], errno.EPERM),
    **dict.fromkeys(["io_uring_setup", "vsock", "personality"], errno.EPERM),
    **dict.fromkeys(["clone3", "newer"], errno.ENOSYS),
    **dict.fromkeys(["inet", "ask personality", "traceme"], 0),
}
STATUS = """
import json
rows = dict(x.split(":", 1) for x in open("/proc/self/status").read().splitlines())
print(json.dumps({key: rows[key].strip() for key in ("Seccomp", "NoNewPrivs", "CapBnd", "CapEff")}))
"""
DOCKERS_FOURTEEN = "00000000a80425fb"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the calls are x86-64's")
@pytest.mark.parametrize("user", ["0", "4242:4242"])
async def test_system_calls(starter: Starter, user: str) -> None:
    async with starter.box(user=user) as box:
        assert await python(box, CALLS) == EXPECTED


async def test_usual_programs_run(starter: Starter) -> None:
    async with starter.box() as box:
        threads = "import json, threading; t = threading.Thread(target=print, args=('1',)); t.start(); t.join()"
        assert await python(box, threads) == 1
        done = await box.run(
            "echo a | tr a b && find / -xdev -name passwd | sort | head -1 && apk --version | cut -c1-3"
        )
        assert done.output.split() == ["b", "/etc/passwd", "apk"]


@pytest.mark.parametrize(("user", "effective"), [("0", DOCKERS_FOURTEEN), ("4242:4242", "0" * 16)])
async def test_privileges(starter: Starter, user: str, effective: str) -> None:
    async with starter.box(user=user) as box:
        wanted = {"Seccomp": "2", "NoNewPrivs": "1", "CapBnd": DOCKERS_FOURTEEN, "CapEff": effective}
        assert await python(box, STATUS) == wanted


async def test_new_privileges_are_lifted_or_refused(starter: Starter) -> None:
    if starter.program == "bubblewrap":
        with pytest.raises(EngineError, match="install runc"):
            await starter.engine.start(starter.options(no_new_privileges=False))
        return
    async with starter.box(no_new_privileges=False) as box:
        assert (await python(box, STATUS))["NoNewPrivs"] == "0"
