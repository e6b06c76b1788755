"""glibc as conda-forge packs it: noarch, under ``TRIPLET/sysroot/``, for builds; the run time takes its libraries.

The set of gconv modules is the one that glibc itself keeps in ``gconv-modules``; the rest, listed in
``gconv-modules.d/gconv-modules-extra.conf``, is a package of its own, as in the RHEL family.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from tools.channel.architecture import Architecture
from tools.channel.debs import Deb
from tools.channel.errors import RecipeError
from tools.channel.package import Package
from tools.channel.tree import Entry, Tree, link, without_dangling

_LICENCE = "LGPL-2.1-or-later"
_LIBRARY = re.compile(r"(ld|lib)[-\w+.]*\.so(\.[\d.]+)?")
_SEPARATE = re.compile(r"lib(crypt|nsl)[-.]")  # conda-forge takes them from libxcrypt and libnsl


@dataclass(frozen=True)
class GlibcDebs:
    """One glibc: the package with its libraries, libc6 (gconv modules) and libc-bin (the C.UTF-8 locale)."""

    libraries: Deb
    modules: Deb
    programs: Deb


def glibc_deb_names(architecture: Architecture) -> tuple[str, ...]:
    """The Debian packages that make one GlibcDebs, in its order."""
    return (*architecture.glibc_debs, "libc6", "libc-bin")


def sysroot_packages(debs: GlibcDebs, architecture: Architecture) -> list[Package]:
    """The sysroot and its extra gconv modules; raises RecipeError when glibc is not where it is expected."""
    root = architecture.sysroot_directory
    libraries = _under(debs.libraries.tree, architecture.glibc_directory)
    libraries = {
        name: entry for name, entry in libraries.items() if _LIBRARY.fullmatch(name) and not _SEPARATE.match(name)
    }
    if not any(name.startswith("libc.so.") for name in libraries):
        raise RecipeError(
            debs.libraries.name, f"no libc in {architecture.glibc_directory}", "look at tools/channel/architecture.py"
        )
    base, extra = split_gconv(_under(debs.modules.tree, f"usr/lib/{architecture.multiarch}/gconv"))
    locale = _under(debs.programs.tree, "usr/lib/locale")
    tree = {f"{root}/lib64/{name}": _local(entry) for name, entry in libraries.items()}
    tree |= {f"{root}/usr/lib64/gconv/{name}": entry for name, entry in base.items()}
    tree |= {
        f"{root}/usr/lib/locale/{name}": entry for name, entry in locale.items() if name.upper().startswith("C.UTF")
    }
    tree = without_dangling(tree)
    tree[f"{root}/usr/share/zoneinfo"] = link("../../../../share/zoneinfo")
    more = {f"{root}/usr/lib64/gconv/{name}": entry for name, entry in extra.items()}
    version, name = debs.libraries.version, architecture.sysroot_package
    extra_name = name.replace("sysroot", "glibc-gconv-extra")
    return [
        _package(name, debs, tree, (f"__glibc >={version},<3.0.a0", "tzdata")),
        _package(extra_name, debs, more, (f"{name} {version}.*",)),
    ]


def split_gconv(modules: Tree) -> tuple[Tree, Tree]:
    """The modules that ``gconv-modules`` names, and the others; the binary cache, which names all, is in neither."""
    needed = set(re.findall(rb"^module\s+\S+\s+\S+\s+(\S+)", modules["gconv-modules"].data, re.MULTILINE))
    base: Tree = {"gconv-modules": modules["gconv-modules"]}
    extra: Tree = {}
    for name, entry in modules.items():
        if name.endswith(".so"):
            chosen = base if posixpath.basename(name).removesuffix(".so").encode() in needed else extra
            chosen[name] = entry
        elif name.startswith("gconv-modules.d/"):
            extra[name] = entry
    return base, extra


def _package(name: str, debs: GlibcDebs, tree: Tree, depends: tuple[str, ...]) -> Package:
    return Package(
        name=name,
        version=debs.libraries.version,
        build="h",
        subdir="noarch",
        license=_LICENCE,
        tree=tree,
        depends=depends,
        noarch="generic",
        license_texts={"libc6.txt": debs.modules.copyright},
        sources=tuple(f"sha256:{deb.sha256}" for deb in (debs.libraries, debs.modules, debs.programs)),
    )


def _under(tree: Tree, folder: str) -> Tree:
    """The files below ``folder``, by their names in it; ``/lib`` and ``/usr/lib`` are one on merged systems."""
    return {path.removeprefix(f"{folder}/"): entry for path, entry in tree.items() if path.startswith(f"{folder}/")}


def _local(entry: Entry) -> Entry:
    return link(posixpath.basename(entry.target)) if entry.target is not None else entry
