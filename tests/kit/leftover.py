"""Processes that still run in a sandbox: what a test of cleaning up must find none of."""

from __future__ import annotations

import time
from pathlib import Path


def processes_of(marks: list[str], within: float = 2.0) -> list[int]:
    """Processes with one of ``marks`` (paths of the sandbox) among their mounts that are left after ``within`` s."""
    deadline = time.monotonic() + within
    while found := _now(marks):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)  # a killed process takes a moment to go
    return found


def _now(marks: list[str]) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            text = path.read_text()
        except OSError:
            continue
        if any(mark in text for mark in marks):
            found.append(int(path.parent.name))
    return found
