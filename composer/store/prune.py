"""Removing what killed processes left in the store."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

# blob-PID-*, env-PID-* and the like; .NAME.PID-THREAD of replace_file
_OWNER = re.compile(r"(?:[a-z]+-|\..+\.)(\d+)-")


def sweep(folder: Path) -> list[Path]:
    """Remove the temporary entries of a folder whose maker, named by its process id, is no more; returns them.

    Process ids mean something in one container only: do not sweep a store while another one builds in it.
    """
    removed = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = _OWNER.match(path.name)
        if found and not _alive(int(found[1])):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
