"""System calls that Python does not wrap: openat2(2), through ctypes."""

from __future__ import annotations

import ctypes
import errno
import os

_OPENAT2 = 437  # the same number on every architecture
_NO_MAGICLINKS, _IN_ROOT = 0x02, 0x10


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_in_root(root: int, path: str, flags: int) -> int:
    """Open ``path`` below the directory descriptor ``root`` as if that were ``/``; no link leads out of it.

    Raises `OSError`. Kernels before 5.6 have no openat2: there each component is opened and links are refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    how = _How(flags | os.O_CLOEXEC, 0, _IN_ROOT | _NO_MAGICLINKS)
    name = os.fsencode(path or ".")
    handle: int = libc.syscall(_OPENAT2, root, name, ctypes.byref(how), ctypes.sizeof(how))
    if handle >= 0:
        return handle
    error = ctypes.get_errno()
    if error == errno.ENOSYS:
        return _walk(root, path, flags)
    raise OSError(error, os.strerror(error), path)


def _walk(root: int, path: str, flags: int) -> int:
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        try:
            if part == "..":
                raise OSError(errno.EXDEV, "leaves the root", path)
            wanted = flags if last else os.O_RDONLY | os.O_DIRECTORY
            following = os.open(part, wanted | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
        finally:
            os.close(handle)
        handle = following
    return handle
