"""What the channel needs to know and change of ELF files: the glibc that they ask for, and their run paths."""

from __future__ import annotations

import posixpath
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from tools.channel.errors import RecipeError
from tools.channel.tree import Tree

_VERSION = re.compile(rb"\0GLIBC_2\.(\d+)(?:\.\d+)*(?=\0)")
_RELATIVE_RELOCATIONS = b"\0GLIBC_ABI_DT_RELR\0"  # a loader since 2.36 understands them


def required_glibc(tree: Tree) -> str | None:
    """The lowest glibc with all symbol versions that the ELF files name, such as ``2.35``; None without any."""
    minors = [int(minor) for entry in tree.values() if entry.is_elf for minor in _VERSION.findall(entry.data)]
    minors += [36 for entry in tree.values() if entry.is_elf and _RELATIVE_RELOCATIONS in entry.data]
    return f"2.{max(minors)}" if minors else None


def run_path(path: str) -> str:
    """The run path of the file ``path`` that finds ``lib/``, as conda-build writes it."""
    folder = posixpath.dirname(path)
    return "$ORIGIN/../lib" if folder in {"bin", "lib"} else "$ORIGIN/" + posixpath.relpath("lib", folder)


def with_run_paths(tree: Tree, patchelf: Path) -> Tree:
    """The tree with a DT_RPATH in each ELF file under ``bin/`` and ``lib/``; raises RecipeError."""
    groups: dict[str, list[str]] = {}
    for path, entry in sorted(tree.items()):
        if entry.is_elf:
            groups.setdefault(run_path(path), []).append(path)
    changed = dict(tree)
    for value, paths in groups.items():
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, str(number)) for number in range(len(paths))]
            for file, path in zip(files, paths, strict=True):
                file.write_bytes(tree[path].data)
            command = [str(patchelf), "--force-rpath", "--set-rpath", value, *map(str, files)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode:
                raise RecipeError(
                    paths[0], f"patchelf failed: {result.stderr.strip()}", "look at the package's ELF files"
                )
            for file, path in zip(files, paths, strict=True):
                changed[path] = replace(tree[path], data=file.read_bytes())
    return changed
