"""Gates over the files of a prefix: nothing is run, any machine can try them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from composer.env.elf import MACHINES, Elf, read_elf
from composer.env.files import regular_files
from composer.env.gates.report import Gate, gate
from composer.env.loader import search_directories, variable_tests

# What conda-build and our own channel write where a prefix goes
_PLACEHOLDER = rb"_placehold_placehold|/opt/placeholder_pl|_h_env_placehold"


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix on disk and its ELF files by their path in it; ``place`` is where it is meant to be (``/.oc``)."""

    root: Path
    place: str
    elves: dict[str, Elf]

    @classmethod
    def read(cls, root: Path, place: str) -> Prefix:
        """Parse every ELF file below ``root``."""
        found = ((str(path.relative_to(root)), read_elf(path)) for path in regular_files(root))
        return cls(root, place, {name: elf for name, elf in found if elf})

    @property
    def loaders(self) -> list[str]:
        """The dynamic loaders in it."""
        names = {machine.loader for machine in MACHINES.values()}
        return [name for name, elf in self.elves.items() if elf.soname in names and name.startswith("lib/")]


def file_gates(prefix: Prefix, host_paths: Sequence[str]) -> list[Gate]:
    """Every gate of this module."""
    return [
        stack_gate(prefix),
        needed_gate(prefix),
        run_path_gate(prefix),
        interpreter_gate(prefix),
        loader_gate(prefix),
        link_gate(prefix),
        build_path_gate(prefix, host_paths),
    ]


def stack_gate(prefix: Prefix) -> Gate:
    """No file asks for an executable stack, which hardened kernels refuse (PT_GNU_STACK, elf(5))."""
    bad = [name for name, elf in prefix.elves.items() if elf.executable_stack]
    bad += [f"{name} does not say" for name, elf in prefix.elves.items() if elf.executable_stack is None]
    return gate("no executable stack", bad, f"{len(prefix.elves)} ELF files")


def needed_gate(prefix: Prefix) -> Gate:
    """Every DT_NEEDED is a file of the prefix; ld.so(8) would find most at the place where it searches first."""
    everywhere = {n for _, folders, names in os.walk(prefix.root) for n in (*names, *folders) if ".so" in n}
    missing, indirect = [], 0
    for name, elf in prefix.elves.items():
        folders = [prefix.root, prefix.root / "lib", *_run_path(prefix, name, elf)]
        for soname in elf.needed:
            if any((folder / soname).exists() for folder in folders):
                continue
            # a library of a private folder finds its neighbours when the program loaded them before
            indirect += soname in everywhere
            if soname not in everywhere:
                missing.append(f"{name} needs {soname}")
    return gate("needed libraries", missing, f"all in the prefix, {indirect} of them only by a program's run path")


def run_path_gate(prefix: Prefix) -> Gate:
    """DT_RPATH and DT_RUNPATH stay inside the prefix."""
    bad = []
    for name, elf in prefix.elves.items():
        for entry in elf.rpath:
            place = _expanded(prefix.place, name, entry)
            if place != prefix.place and not place.startswith(prefix.place + "/"):
                bad.append(f"{name} has {entry}")
    return gate("run paths", bad, "all below $ORIGIN or the prefix")


def interpreter_gate(prefix: Prefix) -> Gate:
    """Programs start with the private loader."""
    programs = {name: elf for name, elf in prefix.elves.items() if elf.interpreter}
    loaders = {f"{prefix.place}/{m.loader}": prefix.root / m.loader for m in MACHINES.values()}
    bad = []
    for name, elf in programs.items():
        text = elf.interpreter.decode(errors="replace")
        if text not in loaders or not loaders[text].is_file():
            bad.append(f"{name} has {text}")
    return gate("interpreter", bad, f"{len(programs)} programs")


def loader_gate(prefix: Prefix) -> Gate:
    """The loader's default folders are in the prefix and its test for LD_ variables matches nothing."""
    bad = [] if prefix.loaders else ["there is no loader"]
    for name in prefix.loaders:
        data = (prefix.root / name).read_bytes()
        bad += [f"{name} searches {entry.rstrip(bytes(1)).decode()}" for entry in search_directories(data)]
        if variable_tests(data, MACHINES[prefix.elves[name].machine]):
            bad.append(f"{name} obeys LD_ variables")
        if b"/etc/ld.so" in data:
            bad.append(f"{name} reads /etc/ld.so.*")
    return gate("loader", bad, ", ".join(prefix.loaders))


def link_gate(prefix: Prefix) -> Gate:
    """Symbolic links lead to files of the prefix."""
    bad = []
    for folder, folders, names in os.walk(prefix.root):
        for name in (*folders, *names):
            path = Path(folder, name)
            if path.is_symlink() and not _inside(prefix, path):
                bad.append(f"{path.relative_to(prefix.root)} -> {path.readlink()}")
    return gate("links", bad, "all inside the prefix")


def build_path_gate(prefix: Prefix, host_paths: Iterable[str]) -> Gate:
    """No file names a folder of the build host or holds an unfilled prefix placeholder."""
    texts = [re.escape(os.fsencode(path)) for path in host_paths if len(path) > 1]
    pattern = re.compile(b"|".join([*texts, _PLACEHOLDER]))
    bad = []
    for path in regular_files(prefix.root):
        if found := pattern.search(path.read_bytes()):
            bad.append(f"{path.relative_to(prefix.root)} has {os.fsdecode(found[0])}")
    return gate("no build paths", bad, "no placeholder and no folder of the build host")


def _expanded(place: str, name: str, entry: str) -> str:
    """A run path entry as an absolute path with ``$ORIGIN`` and ``..`` worked out."""
    origin = f"{place}/{PurePosixPath(name).parent}"
    return os.path.normpath(entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin))


def _run_path(prefix: Prefix, name: str, elf: Elf) -> list[Path]:
    places = (_expanded(prefix.place, name, entry) for entry in elf.rpath)
    return [prefix.root / place[len(prefix.place) + 1 :] for place in places if place.startswith(prefix.place)]


def _inside(prefix: Prefix, link: Path) -> bool:
    """Whether the link's target exists in the prefix, with absolute targets taken from ``place``."""
    target = str(link.readlink())
    if target.startswith(prefix.place + "/"):
        return (prefix.root / target[len(prefix.place) + 1 :]).exists()
    whole = os.path.normpath(link.parent / target)
    return whole.startswith(f"{prefix.root}/") and Path(whole).exists()
