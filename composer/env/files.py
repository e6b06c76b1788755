"""Files of a stage: walked in one order, replaced but never written into, with the modes of a layer."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def regular_files(root: Path) -> Iterator[Path]:
    """Every regular file below ``root``, sorted within its folder; links are not followed."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` where ``path`` is, as a new file of the same mode: other hard links keep the old bytes."""
    mode = stat.S_IMODE(path.stat().st_mode)
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    new.chmod(mode)
    new.replace(path)


def set_modes(root: Path) -> None:
    """Make every folder 0755 and every file 0755 or 0644, by its owner's execute bit: any uid may run it.

    A hard link to the package cache shares its mode with the cache, which goes away with the stage.
    """
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
