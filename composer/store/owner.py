"""Who makes a temporary entry: its process and, since ids mean something in one only, its pid namespace."""

from __future__ import annotations

import os
from pathlib import Path


def owner() -> str:
    """``PID-NAMESPACE`` of this process, for the names of temporary entries."""
    return f"{os.getpid()}-{pid_namespace()}"


def pid_namespace() -> int:
    """The inode of this process's pid namespace (pid_namespaces(7)); 0 where there is no /proc."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
