"""A log file read to its end, and on as it grows, by inotify(7)."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import AsyncIterator
from pathlib import Path

_MODIFY, _CLOSE_WRITE, _ATTRIB, _DELETE_SELF = 0x2, 0x8, 0x4, 0x400
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # IN_NONBLOCK, IN_CLOEXEC have the same values


async def follow_file(path: Path, *, follow: bool) -> AsyncIterator[bytes]:
    """Pieces of the file; with ``follow`` until it is unlinked. Nothing is missed between reading and watching."""
    with path.open("rb", buffering=0) as file:
        changed = asyncio.Event()
        watch = _watch(path) if follow else -1
        loop = asyncio.get_running_loop()
        if watch >= 0:
            loop.add_reader(watch, _wake, watch, changed)
        try:
            while True:
                changed.clear()
                gone = os.fstat(file.fileno()).st_nlink == 0
                while piece := file.read(1 << 16):
                    yield piece
                if gone or watch < 0:
                    return
                await changed.wait()
        finally:
            if watch >= 0:
                loop.remove_reader(watch)
                os.close(watch)


def _wake(watch: int, changed: asyncio.Event) -> None:
    os.read(watch, 4096)
    changed.set()


def _watch(path: Path) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    handle: int = libc.inotify_init1(_FLAGS)
    if handle >= 0:
        libc.inotify_add_watch(handle, os.fsencode(path), _MODIFY | _CLOSE_WRITE | _ATTRIB | _DELETE_SELF)
    return handle
