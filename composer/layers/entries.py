"""The entries of a layer: paths below the prefix in the order of the tar, directories before what is in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """One path: ``name`` as in the tar (``.oc/bin/python3``), ``source`` the file that it is read from."""

    name: str
    source: Path


def walk(root: Path) -> Iterator[str]:
    """Every file and link below ``root``, relative to it, and every directory that has nothing in it.

    Other directories come with what is in them, so that a package's new folder is in no other package's layer.
    """
    for folder, folders, files in os.walk(root):
        where = os.path.relpath(folder, root)
        links = [name for name in folders if not is_directory(Path(folder, name))]
        if where != "." and not folders and not files:
            yield where
        for name in (*links, *files):
            yield name if where == "." else f"{where}/{name}"


def layer_entries(root: Path, prefix: str, names: Iterable[str]) -> tuple[Entry, ...]:
    """The entries for ``names`` (relative to ``root``) and for every directory above them, sorted by path components.

    Two layers may share directories, never files; a directory's mode is the same wherever it appears.
    """
    wanted = set()
    for name in names:
        parts = name.split("/")
        wanted |= {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
    below = prefix.strip("/")
    rows = [Entry(below, root)]
    rows += [Entry(f"{below}/{name}", root / name) for name in sorted(wanted, key=lambda name: name.split("/"))]
    return tuple(rows)


def is_directory(path: Path) -> bool:
    """Whether ``path`` is a directory itself, not a link to one."""
    return stat.S_ISDIR(path.lstat().st_mode)
