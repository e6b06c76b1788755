from __future__ import annotations

import pytest

from composer.errors import UsageError
from composer.runtime.passwd import account

PASSWD = "root:x:0:0:root:/root:/bin/sh\napp:x:1000:100:App:/home/app:/bin/sh\nbroken\n"
GROUP = "root:x:0:\nusers:x:100:\ndocker:x:999:other,app\n"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param("", (0, 0, (), "/root"), id="none-is-root"),
        pytest.param("app", (1000, 100, (999,), "/home/app"), id="name"),
        pytest.param("1000", (1000, 100, (999,), "/home/app"), id="uid-with-entry"),
        pytest.param("4242", (4242, 0, (), "/"), id="uid-without-entry"),
        pytest.param("4242:17", (4242, 17, (), "/"), id="uid-gid"),
        pytest.param("app:docker", (1000, 999, (), "/home/app"), id="named-group"),
    ],
)
def test_account(user: str, expected: tuple[int, int, tuple[int, ...], str]) -> None:
    found = account(user, PASSWD, GROUP)
    assert (found.uid, found.gid, found.groups, found.home) == expected


def test_account_without_files() -> None:
    assert account("", "", "").home == "/"


@pytest.mark.parametrize("user", ["nobody", "app:nobody"])
def test_unknown_names(user: str) -> None:
    with pytest.raises(UsageError):
        account(user, PASSWD, GROUP)
