"""Files of an image read from its layers' directories as overlay would merge them, before anything is mounted."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from composer.runtime.kernel import open_in_root

_LIMIT = 4 << 20  # bytes; no passwd file is larger


def image_text(lower: Sequence[Path], path: str, links: int = 8) -> str:
    """The text of ``path`` (relative to the root), or nothing; ``lower`` has the top layer first."""
    for root in lower:
        found = _state(root, path)
        if found is None:
            continue
        if stat.S_ISLNK(found.st_mode) and links:
            target = os.readlink(root / path)  # noqa: PTH115
            joined = os.path.normpath(os.path.join("/", os.path.dirname(path), target))  # noqa: PTH118, PTH120
            return image_text(lower, joined.lstrip("/"), links - 1)
        return _read(root, path) if stat.S_ISREG(found.st_mode) else ""
    return ""


def image_has(lower: Sequence[Path], path: str) -> bool:
    """Whether the merged image has anything at ``path``."""
    found = next((state for root in lower if (state := _state(root, path)) is not None), None)
    return found is not None and not stat.S_ISCHR(found.st_mode)


def _state(root: Path, path: str) -> os.stat_result | None:
    """What this layer says of ``path``: the entry, a whiteout of it or of a parent, or nothing."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        try:
            found = os.lstat(root.joinpath(*parts[:count]))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if count < len(parts) and not stat.S_ISDIR(found.st_mode):
            return found if stat.S_ISCHR(found.st_mode) else None
    return found


def _read(root: Path, path: str) -> str:
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.fdopen(open_in_root(handle, path, os.O_RDONLY), "rb") as file:
            return file.read(_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)
