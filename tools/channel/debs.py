"""Debian packages as conda packages: unpack, move files where conda-forge has them, give libraries their run paths."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.channel.architecture import Architecture
from tools.channel.elf import required_glibc, with_run_paths
from tools.channel.errors import RecipeError
from tools.channel.layouts import LAYOUTS, Layout
from tools.channel.package import Package
from tools.channel.recipes import DebRecipe
from tools.channel.tree import Tree, link, read_tar, relative, resolve, without_dangling

# What conda-forge ships apart from the run time (documentation, debug helpers), or what only a Debian system has.
_LEFT_OUT = re.compile(
    r"(^|/)(share/(doc|man|lintian|bug|locale|menu|pixmaps|applications|info|doc-base|bash-completion|binfmts|python3|gcc|gdb)"
    r"|__pycache__|perl5|engines-3|valgrind)(/|$)"
)
_KEPT_ROOTS = ("bin/", "lib/", "share/", "ssl/")


@dataclass(frozen=True)
class Deb:
    """An unpacked ``.deb``: upstream's part of its version, and its files under their Debian names."""

    name: str
    version: str
    sha256: str
    tree: Tree

    @property
    def copyright(self) -> bytes:
        """The text of ``/usr/share/doc/NAME/copyright``, empty where the package only links to another's."""
        entry = self.tree.get(f"usr/share/doc/{self.name}/copyright")
        return entry.data if entry else b""


def read_deb(path: Path) -> Deb:
    """Read a ``.deb`` by dpkg-deb(1); raises RecipeError for a damaged one."""
    try:
        fields = subprocess.run(
            ["dpkg-deb", "-f", path, "Package", "Version"], capture_output=True, check=True, text=True
        ).stdout
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True).stdout
    except subprocess.CalledProcessError as error:
        raise RecipeError(path.name, "dpkg-deb cannot read it", "remove it from the cache") from error
    values = dict(line.split(": ", 1) for line in fields.splitlines())
    return Deb(values["Package"], upstream_version(values["Version"]), path.stem, read_tar(tar))


def upstream_version(version: str) -> str:
    """A Debian version as conda's: no epoch, revision or repacking mark (``1:1.2.13.dfsg-1`` is ``1.2.13``)."""
    without_epoch = re.sub(r"^\d+:", "", version)
    return re.split(r"[-+~]|\.dfsg", without_epoch)[0]


def conda_path(path: str, multiarch: str) -> str:
    """Where conda-forge has the file that Debian has at ``path``; both relative to the root."""
    path = re.sub(rf"^(usr/)?lib/{re.escape(multiarch)}/", "lib/", path)
    path = re.sub(r"^usr/(bin|lib|share)/", r"\1/", path)
    path = re.sub(r"^lib/terminfo/", "share/terminfo/", path)
    return re.sub(r"^etc/ssl/openssl\.cnf$", "ssl/openssl.cnf", path)


def relocated(tree: Tree, multiarch: str) -> Tree:
    """The files that a conda package has, at conda-forge's places; links follow their destinations."""
    moved: Tree = {}
    for path, entry in tree.items():
        place = conda_path(path, multiarch)
        if not place.startswith(_KEPT_ROOTS) or _LEFT_OUT.search(place):
            continue
        if entry.target is None:
            moved[place] = entry
        else:
            moved[place] = link(relative(place, conda_path(resolve(path, entry.target), multiarch)))
    return moved


def deb_package(recipe: DebRecipe, debs: list[Deb], architecture: Architecture, patchelf: Path) -> Package:
    """Make the conda package of ``recipe`` out of its unpacked Debian packages."""
    merged: Tree = {}
    for deb in debs:
        merged |= deb.tree
    layout = Layout(relocated(merged, architecture.multiarch), {})
    if recipe.layout:
        layout = LAYOUTS[recipe.layout](layout.tree, merged)
    tree = without_dangling(layout.tree)
    if not tree:
        raise RecipeError(recipe.name, "none of its Debian packages' files is left", "look at tools/channel/recipes.py")
    if not recipe.noarch:
        tree = with_run_paths(tree, patchelf)
    glibc = required_glibc(tree)
    return Package(
        name=recipe.name,
        version=debs[0].version,
        build="h",
        subdir="noarch" if recipe.noarch else architecture.subdir,
        license=recipe.licence,
        tree=tree,
        depends=recipe.depends + ((f"__glibc >={glibc},<3.0.a0",) if glibc else ()),
        noarch="generic" if recipe.noarch else None,
        placeholders={path: holder for path, holder in layout.placeholders.items() if path in tree},
        license_texts={f"{deb.name}.txt": deb.copyright for deb in debs if deb.copyright},
        sources=tuple(f"sha256:{deb.sha256}" for deb in debs),
    )
