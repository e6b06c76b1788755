"""A tar of equal bytes for equal content: sorted, owned by root, without names and times (POSIX.1-2001 pax format)."""

from __future__ import annotations

import stat
import tarfile
from collections.abc import Sequence
from typing import Protocol

from composer.errors import StoreError
from composer.layers.entries import Entry


class Writable(Protocol):
    """Something that takes bytes."""

    def write(self, data: bytes, /) -> int:
        """Take all of ``data``."""
        ...


def write_tar(entries: Sequence[Entry], target: Writable, mtime: int = 0) -> None:
    """Write the entries in their order; a pax header stands only where a name or link is longer than ustar allows.

    Hard links become two files: which of the two comes first must not depend on inode numbers. Raises `StoreError` for
    an entry that cannot be read.
    """
    tar = tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT, bufsize=1 << 20)  # type: ignore[call-overload]
    with tar:
        for entry in entries:
            try:
                _add(tar, entry, mtime)
            except (OSError, tarfile.TarError) as error:
                raise StoreError(str(entry.source), f"cannot be packed: {error}", "build the env again") from error


def _add(tar: tarfile.TarFile, entry: Entry, mtime: int) -> None:
    member = _member(entry, mtime)
    if member.isreg():
        with entry.source.open("rb") as file:
            tar.addfile(member, file)
    else:
        tar.addfile(member)


def _member(entry: Entry, mtime: int) -> tarfile.TarInfo:
    status = entry.source.lstat()
    member = tarfile.TarInfo(entry.name)
    member.mtime, member.mode = mtime, stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        member.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, str(entry.source.readlink()), 0o777
    elif stat.S_ISREG(status.st_mode):
        member.size = status.st_size
    else:
        raise StoreError(str(entry.source), "is neither a file, a directory nor a link", "build the env again")
    return member
