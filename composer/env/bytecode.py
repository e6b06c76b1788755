"""Compiling the environment's Python modules with its own Python, to the same bytes each time.

``marshal`` writes a reference mark where an object is known elsewhere in the process, so the bytes of one module depend
on what was compiled before it: files are dealt to a fixed number of processes, each with a fixed order.
"""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from composer.env.elf import Machine
from composer.errors import UnsupportedError, VerifyError

_PROCESSES = 4
"""Never the number of CPUs: it decides the bytes."""

# `-B` keeps modules that are imported meanwhile from being cached with host paths
_PROGRAM = """
import sys, py_compile
root, prefix = sys.argv[1:]
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
for name in sys.stdin.read().split("\\0"):
    try:
        py_compile.compile(f"{root}/{name}", dfile=f"{prefix}/{name}", doraise=True, invalidation_mode=mode)
    except py_compile.PyCompileError:
        pass
"""
_VARIABLES = {"PATH": "/nonexistent", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class PrivatePython:
    """A staged environment's Python, started through its own loader while it is not yet at its prefix."""

    root: Path
    machine: Machine

    @property
    def program(self) -> Path:
        """``bin/python3.N``; raises `VerifyError` when there is none."""
        found = sorted(p for p in (self.root / "bin").glob("python3.*") if re.fullmatch(r"python3\.\d+", p.name))
        if not found:
            raise VerifyError(str(self.root), "the environment has no Python", "add python to the spec")
        return found[0]

    def command(self, *arguments: str) -> list[str]:
        """The argv that runs it from the stage."""
        loader = self.root / "lib" / self.machine.loader
        library_path = str(self.root / "lib")
        return [str(loader), "--inhibit-cache", "--library-path", library_path, str(self.program), *arguments]


def compile_all(root: Path, machine: Machine, prefix: str) -> None:
    """Write ``__pycache__`` with unchecked hashes and paths below ``prefix`` for every module.

    A module that does not compile (templates, code for another Python) is left without. Raises `UnsupportedError` when
    this machine cannot run the environment's programs.
    """
    python = PrivatePython(root, machine)
    library = root / "lib" / python.program.name
    names = sorted(str(path.relative_to(root)) for path in library.rglob("*.py") if path.is_file())
    command = python.command("-I", "-B", "-c", _PROGRAM, str(root), prefix)
    with ThreadPoolExecutor(min(_PROCESSES, os.cpu_count() or 1), "compile") as pool:
        for done in pool.map(lambda part: _run(command, part), (names[i::_PROCESSES] for i in range(_PROCESSES))):
            if done.returncode:
                text = done.stderr.decode(errors="replace").strip().splitlines()
                raise VerifyError(str(library), f"its Python failed ({text[-1] if text else done.returncode})")


def _run(command: list[str], names: list[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, input="\0".join(names).encode(), env=_VARIABLES, capture_output=True, check=False
        )
    except OSError as error:
        raise UnsupportedError(
            command[0],
            f"cannot be run on this machine ({error.strerror})",
            "build on a machine of that CPU, or register qemu-user with binfmt_misc",
        ) from error
