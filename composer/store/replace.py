"""Replacing a small file as a whole: readers see the old bytes or the new ones, also after a crash."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from composer.store.disk import disk_errors
from composer.store.owner import owner


def replace_file(path: Path, data: bytes) -> None:
    """Give ``path`` the content ``data`` by rename; raises `DiskFullError`, `StoreError`.

    A killed process leaves ``.NAME.PID-NAMESPACE-THREAD``, which is swept.
    """
    partial = path.with_name(f".{path.name}.{owner()}-{threading.get_native_id()}")
    try:
        with disk_errors(path):
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
