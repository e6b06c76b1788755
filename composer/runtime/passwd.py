"""Who the process runs as: an image's ``User`` looked up in the image's own passwd and group files."""

from __future__ import annotations

from dataclasses import dataclass

from composer.errors import UsageError


@dataclass(frozen=True, slots=True)
class Account:
    """Numbers for the kernel, and the home directory for ``HOME``."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def account(user: str, passwd: str, group: str) -> Account:
    """The account of ``name``, ``uid``, ``name:group`` or ``uid:gid``, as Docker resolves it; raises `UsageError`.

    A number without a passwd entry is allowed (gid 0, home ``/``); a name without one is not.
    """
    who, _, wanted = user.partition(":")
    people = [row for row in _rows(passwd, 6) if row[2].isdigit() and row[3].isdigit()]
    found = next((row for row in people if row[0] == (who or "root")), None)
    if found is None and (not who or who.isdigit()):
        number = int(who or 0)
        found = next((row for row in people if int(row[2]) == number), ["", "", str(number), "0", "", "/"])
    if found is None:
        raise UsageError(user, "the image's /etc/passwd has no such user", "use a number, or another name")
    groups = [row for row in _rows(group, 3) if row[2].isdigit()]
    gid = _group(wanted, groups, user) if wanted else int(found[3])
    more = () if wanted else tuple(int(row[2]) for row in groups if found[0] and found[0] in _members(row))
    return Account(int(found[2]), gid, more, found[5] or "/")


def _group(wanted: str, groups: list[list[str]], user: str) -> int:
    for row in groups:
        if row[0] == wanted:
            return int(row[2])
    if not wanted.isdigit():
        raise UsageError(user, "the image's /etc/group has no such group", "use a number, or another name")
    return int(wanted)


def _rows(text: str, fields: int) -> list[list[str]]:
    return [row for line in text.splitlines() if len(row := line.split(":")) >= fields]


def _members(row: list[str]) -> list[str]:
    return row[3].split(",") if len(row) > 3 else []
