"""Removing what killed processes left in the store."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from composer.store.owner import pid_namespace

# blob-PID-NAMESPACE-*, env-PID-NAMESPACE-* and the like; .NAME.PID-NAMESPACE-THREAD of replace_file
_OWNER = re.compile(r"(?:[a-z]+-|\..+\.)(\d+)-(?:(\d+)-)?")
_DAY = 86_400.0


def sweep(folder: Path) -> list[Path]:
    """Remove the temporary entries of a folder whose maker is no more; returns them.

    A maker of another pid namespace cannot be seen from here: what it made is removed once it is a day old.
    """
    removed = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = _OWNER.match(path.name)
        if found and _is_left(path, int(found[1]), int(found[2] or 0)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def _is_left(path: Path, process: int, namespace: int) -> bool:
    if namespace and namespace == pid_namespace():
        return not _alive(process)
    try:
        return time.time() - path.lstat().st_mtime > _DAY
    except FileNotFoundError:
        return False


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
