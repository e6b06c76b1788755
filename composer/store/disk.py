"""The operating system's errors of a write, mapped to ours."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from composer.errors import DiskFullError, StoreError


@contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Raise `DiskFullError` or `StoreError`, naming ``where``, for an `OSError` inside."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(str(where), "no space is left on the device", "free some and run it again") from error
        raise StoreError(str(where), error.strerror or str(error), "check the path and its permissions") from error
