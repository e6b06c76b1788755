"""Ignored signals do not reach programs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import signal, subprocess
from agent_stub.process.signals import restore_defaults
restore_defaults()
print(subprocess.run(["sh", "-c", "kill -INT $$; echo survived"], capture_output=True).returncode)
"""


def test_a_starter_that_ignores_sigint_does_not_matter() -> None:
    ignoring = f"trap '' INT QUIT HUP; exec {sys.executable} -c '{PROGRAM}'"
    done = subprocess.run(["sh", "-c", ignoring], capture_output=True, text=True, check=True)
    assert done.stdout == "-2\n"
