from __future__ import annotations

import re
from pathlib import Path

import pytest

from composer.runtime.seccomp import default_profile, oci_seccomp
from composer.runtime.syscalls import NEWEST, numbers
from tests.kit.skip import unavailable

HEADERS = Path("/usr/include/x86_64-linux-gnu/asm")


@pytest.mark.parametrize(("architecture", "header"), [("x86_64", "unistd_64.h"), ("i386", "unistd_32.h")])
def test_the_kernels_numbers(architecture: str, header: str) -> None:
    path = HEADERS / header
    if not path.is_file():
        unavailable(f"{path} is not there (Debian: linux-libc-dev)", obtainable=False)
    rows = {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)", path.read_text())}
    last = max(rows.values())
    ours = {name: row[architecture] for name, row in numbers().items() if row.get(architecture, NEWEST) <= last}
    assert ours.items() <= rows.items()
    assert all(architecture in row for name, row in numbers().items() if name in rows)


@pytest.mark.parametrize(
    "name", ["mount", "unshare", "setns", "keyctl", "bpf", "kexec_load", "io_uring_setup", "reboot"]
)
def test_never_allowed(name: str) -> None:
    profile = default_profile((6, 1))
    assert name not in {*profile.allowed, *profile.conditional}


def test_tracing_needs_a_kernel_that_filters_after_it() -> None:
    assert "ptrace" in default_profile((4, 8)).allowed
    assert "ptrace" not in default_profile((4, 7)).allowed


def test_the_rules_refuse_by_default() -> None:
    rules = oci_seccomp(default_profile((6, 1)))
    assert (rules["defaultAction"], rules["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 1)
    by_name = {name: rule for rule in rules["syscalls"] for name in rule["names"]}
    assert by_name["clone3"]["errnoRet"] == 38
    assert by_name["clone"]["args"][0]["op"] == "SCMP_CMP_MASKED_EQ"
