"""Does a prefix keep its promises? The gates of design/portable_env.md as functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from composer.env.gates.files import Prefix, file_gates
from composer.env.gates.report import Report


def verify_files(root: Path, prefix: str = "/.oc", host_paths: Sequence[str] = ()) -> Report:
    """The gates that only read: quick, on any machine. ``host_paths`` must occur in no file."""
    return Report(str(root), tuple(file_gates(Prefix.read(root, prefix), host_paths)))
