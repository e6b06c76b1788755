"""Whether resource limits can be applied: where this user may write the cgroup controllers (cgroups(7))."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from composer.errors import LimitError
from composer.runtime.engine import Limits

_ROOT = Path("/sys/fs/cgroup")


def applicable(limits: Limits, program: str, root: Path = _ROOT) -> Limits:
    """The limits that ``program`` can apply here; raises `LimitError` when one cannot, unless best effort is enough."""
    wanted = {"memory": limits.memory, "cpu": limits.cpus, "pids": limits.pids}
    names = [name for name, value in wanted.items() if value is not None]
    missing = [name for name in names if program == "bubblewrap" or not _writable(name, root)]
    if not missing:
        return limits
    if not limits.best_effort:
        why = "bubblewrap has no limits" if program == "bubblewrap" else f"no writable cgroup controller in {root}"
        raise LimitError(
            " and ".join(missing), f"cannot be limited here: {why}", "use --best-effort-limits to go without"
        )
    return replace(
        limits,
        memory=None if "memory" in missing else limits.memory,
        cpus=None if "cpu" in missing else limits.cpus,
        pids=None if "pids" in missing else limits.pids,
    )


def swap_accounted(root: Path = _ROOT) -> bool:
    """Whether the kernel counts swap, so that a limit of memory can be one of memory and swap."""
    return (root / "memory" / "memory.memsw.limit_in_bytes").exists() or any(root.glob("*/memory.swap.max"))


def _writable(controller: str, root: Path) -> bool:
    if os.access(root / controller, os.W_OK):
        return True
    try:
        return controller in (root / "cgroup.controllers").read_text().split() and os.access(root, os.W_OK)
    except OSError:
        return False
