"""Taking glibc out of conda's sysroot package, which is made for compilers, and placing it for programs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from composer.env.elf import Machine, read_elf
from composer.errors import VerifyError

_FOLDERS = ("lib64", "usr/lib64", "lib", "usr/lib")
_LIBRARY = re.compile(r"(?:ld|lib)[-\w+.]*\.so(?:\.[\d.]+)?")
# libX.so without a number is a linker script or a development link, but ld-2.28.so and libc-2.28.so are real
_RUNTIME = re.compile(r"\.so\.\d|-\d[\d.]*\.so$|^ld\.so$")
# What programs load by name at run time (NSS, Python's ctypes), or may expect of any glibc
_ALWAYS = re.compile(r"(ld-linux[-\w]*|lib(c|m|pthread|dl|rt|resolv|util|nss_files|nss_dns))\.so\.\d+")


def place_glibc(root: Path, machine: Machine) -> dict[str, str]:
    """Move the runtime files of glibc into ``root/lib`` and delete the rest of the sysroot.

    Libraries beside the usual ones come along when an ELF file of the environment needs them; a file that the
    environment has itself is never replaced. Returns the new path of each file by its old one, both relative to
    ``root``. Raises `VerifyError` when the environment has no loader for ``machine``.
    """
    moved: dict[str, str] = {}
    for triplet in sorted(root.glob("*-conda-linux-gnu")):
        available = {path.name: path for path in _libraries(triplet / "sysroot")}
        for name in sorted(_wanted(root, triplet, available)):
            moved |= _move(available[name], root, root / "lib" / name)
        for folder in _FOLDERS:
            moved |= _data(triplet / "sysroot" / folder, root)
        shutil.rmtree(triplet)
        (root / "bin" / f"{triplet.name}.cfg").unlink(missing_ok=True)
    if not (root / "lib" / machine.loader).is_file():
        raise VerifyError(str(root), f"the environment has no {machine.loader}", "add the sysroot package to the spec")
    return moved


def link_glibc(root: Path, machine: Machine) -> None:
    """Links at the places where the edited paths point: the loader, and gconv as libc was built to look for it."""
    (root / machine.loader).symlink_to(f"lib/{machine.loader}")
    for folder, target in (("lib64", "../lib/gconv"), (f"lib/{machine.name}-linux-gnu", "../gconv")):
        link = root / folder / "gconv"
        if (root / "lib" / "gconv").is_dir() and not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(target)


def _libraries(sysroot: Path) -> Iterator[Path]:
    """Shared libraries of glibc; of two of one name the last folder's is kept by the caller's mapping."""
    for folder in reversed(_FOLDERS):
        where = sysroot / folder
        if not where.is_dir() or where.is_symlink():  # sysroot 2.39 has three links to lib64
            continue
        for path in sorted(where.iterdir()):
            if _LIBRARY.fullmatch(path.name) and _RUNTIME.search(path.name) and path.is_file() and read_elf(path):
                yield path


def _wanted(root: Path, triplet: Path, available: dict[str, Path]) -> set[str]:
    """Names of libraries to keep: the usual ones, what any ELF file needs, what these need, and links' targets."""
    needed = {name for name in available if _ALWAYS.fullmatch(name)}
    for path in root.rglob("*"):
        if path.is_symlink() or not path.is_file() or triplet in path.parents:
            continue
        if elf := read_elf(path):
            needed |= set(elf.needed) & set(available)
    pending, kept = needed, set[str]()
    while pending:
        name = pending.pop()
        kept.add(name)
        path = available[name]
        elf = read_elf(path)
        follow = set(elf.needed if elf else ()) | ({path.resolve().name} if path.is_symlink() else set())
        pending |= (follow & set(available)) - kept
    return kept


def _data(folder: Path, root: Path) -> dict[str, str]:
    """Move gconv modules, and of the locales C.UTF-8 (all languages together are over 200 MB)."""
    moved: dict[str, str] = {}
    if not folder.is_dir() or folder.is_symlink():
        return moved
    files = [path for path in sorted(folder.glob("gconv/**/*")) if path.is_file()]
    files += [path for path in sorted(folder.glob("locale/[Cc].[Uu][Tt][Ff]*/**/*")) if path.is_file()]
    for path in files:
        moved |= _move(path, root, root / "lib" / path.relative_to(folder))
    return moved


def _move(path: Path, root: Path, target: Path) -> dict[str, str]:
    if target.is_symlink() or target.exists():
        return {}
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and "/" in str(path.readlink()):  # a link out of its folder has no meaning at the new place
        shutil.copyfile(path, target)
    else:
        path.rename(target)
    return {str(path.relative_to(root)): str(target.relative_to(root))}
