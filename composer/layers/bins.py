"""Which package goes into which layer, from the least to the most often changed: rules that look at names alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from composer.env.built import BuiltPackage

BINS = 3
"""Layers that share the packages which are neither the foundation nor a browser's."""
FOUNDATION = frozenset(
    {
        "bzip2", "ld_impl_linux-64", "libexpat", "libffi", "libgcc", "liblzma", "libnsl", "libsqlite", "libuuid",
        "libxcrypt", "libzlib", "ncurses", "openssl", "python", "readline",
    }
)  # fmt: skip
"""Python and what it is linked with: alone, with the sysroot, it starts."""
_BROWSER = re.compile(r"(chromium|playwright|nodejs|nss|nspr|font|xorg-)[a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Bin:
    """The content of one layer to be: its role and its packages, sorted by name."""

    role: str
    packages: tuple[BuiltPackage, ...]


def assign(packages: Sequence[BuiltPackage]) -> tuple[Bin, ...]:
    """Bins in the order of the layers, none of them empty.

    A package stays in its bin whatever else is in the environment, so one that changes changes one layer.
    """
    rows: dict[tuple[int, str], list[BuiltPackage]] = {}
    for package in sorted(packages, key=lambda package: package.name):
        rows.setdefault(_place(package.name), []).append(package)
    return tuple(Bin(role, tuple(found)) for (_, role), found in sorted(rows.items()))


def divide(bins: Sequence[Bin], paths: Iterable[str]) -> tuple[tuple[Bin, tuple[str, ...]], ...]:
    """Which of the prefix's ``paths`` go into which bin's layer: each exactly once; a bin left without any is dropped.

    A path that several packages name goes with the first; those of no package go into the first bin's layer.
    """
    owner: dict[str, int] = {}
    for number, each in enumerate(bins):
        for package in each.packages:
            for name in package.files:
                owner.setdefault(name, number)
    names: list[list[str]] = [[] for _ in bins]
    for path in sorted(paths):
        names[owner.get(path, 0)].append(path)
    return tuple((each, tuple(found)) for each, found in zip(bins, names, strict=True) if found)


def _place(name: str) -> tuple[int, str]:
    if name in FOUNDATION or name.startswith("sysroot_"):
        return 0, "libc"
    if _BROWSER.fullmatch(name):
        return 1 + BINS, "browser"
    return 1 + hashlib.sha256(name.encode()).digest()[0] % BINS, "bin"
