"""Ending a process that has used rattler."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """End the process with ``status``; without the interpreter's finalisation when rattler was used.

    Its threads may still hold on to Python objects then, and one that comes for them after the interpreter is gone
    aborts the process ("PyGILState_Release: thread state must be current"): seen once in some hundred runs.
    """
    if "rattler" in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
