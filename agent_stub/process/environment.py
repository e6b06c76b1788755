"""The environment that the image gives its programs, exactly.

``os.environ`` is not it: Python started under LC_CTYPE "C" adds LC_CTYPE (PEP 538), readline adds LINES and COLUMNS.
"""

from __future__ import annotations

import ctypes
import os
import sys

OWN = {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat"}
"""Set for shells when the image leaves them unset."""


def image_environment() -> dict[str, str]:
    """The variables that this process was started with, undecodable bytes as surrogate escapes."""
    try:
        with open("/proc/self/environ", "rb") as file:
            block = file.read()
    except OSError:
        block = _stack_block()
    found: dict[str, str] = {}
    for row in block.split(b"\0"):
        name, equals, value = row.partition(b"=")
        if equals and name:
            found.setdefault(os.fsdecode(name), os.fsdecode(value))
    return found


def _stack_block() -> bytes:
    """What the kernel put on the stack (execve(2)): argv, a null, envp, a null; setenv(3) leaves it alone."""
    argv = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "_dl_argv")
    first = len(sys.orig_argv) + 1
    rows: list[bytes] = []
    while (row := argv[first + len(rows)]) is not None:
        rows.append(row)
    return b"\0".join(rows)
