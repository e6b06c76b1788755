"""From a spec to a lock: the solver's answer must not depend on the machine that asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from composer.env.channel import check
from composer.env.lock import Lock, LockedPackage
from composer.env.spec import EnvironmentSpec
from composer.errors import SpecError, UnsolvableError

SolverName = Literal["auto", "rattler", "micromamba"]

_ANY_GLIBC = "2.99"
_MACHINES = {"linux-64": "x86_64", "linux-aarch64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a solver. ``virtual`` maps virtual packages (``__glibc``) to version and build."""

    specs: tuple[str, ...]
    channels: tuple[str, ...]
    subdir: str
    cache: Path
    virtual: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Solved:
    """A package that a solver chose; ``depends`` are match specs, virtual ones included."""

    name: str
    version: str
    url: str
    sha256: str
    md5: str
    depends: tuple[str, ...]


Solver = Callable[[Request], Sequence[Solved]]


def solve(spec: EnvironmentSpec, channels: Sequence[str], cache: Path, solver: SolverName = "auto") -> Lock:
    """Lock every platform of ``spec``; ``cache`` is a folder for channel indexes.

    Raises `ChannelError`, `UnsolvableError`, and `SpecError` for a match spec that cannot be read.
    Synchronous: call it from a thread where an event loop runs.
    """
    ask = _solver(solver)
    packages: list[LockedPackage] = []
    for subdir in spec.platforms:
        if subdir not in _MACHINES:
            raise SpecError(spec.source, f"names the platform {subdir!r}", f"use one of {', '.join(_MACHINES)}")
        for channel in channels:
            check(channel, subdir)
        request = Request(spec.dependencies, tuple(channels), subdir, cache, virtual_packages(subdir, _ANY_GLIBC))
        packages += [_locked(found, subdir, spec.source) for found in consistent(ask, request)]
    return Lock(
        packages=tuple(packages),
        content_hash={subdir: spec.content_hash(subdir) for subdir in spec.platforms},
        channels=tuple(channels),
    )


def virtual_packages(subdir: str, glibc: str) -> dict[str, tuple[str, str]]:
    """The virtual packages of the target, never those of this machine: a build must not depend on its host."""
    return {
        "__glibc": (glibc, "0"),
        "__linux": ("5.10", "0"),
        "__unix": ("0", "0"),
        "__archspec": ("1", _MACHINES[subdir]),
    }


def consistent(ask: Solver, request: Request) -> Sequence[Solved]:
    """Solve such that no package needs a newer glibc than the one that the environment brings.

    The version that will be there is known only from the answer, so the first question offers any; when some package
    needs more than the sysroot found, the second offers exactly that sysroot's version.
    """
    found = ask(request)
    sysroot = f"sysroot_{request.subdir}"
    version = next((package.version for package in found if package.name == sysroot), None)
    if version is None:
        raise UnsolvableError(
            ", ".join(request.specs), f"the environment would have no glibc of its own ({sysroot})", f"add {sysroot}"
        )
    if max((_glibc(depend) for package in found for depend in package.depends), default=()) <= _numbers(version):
        return found
    specs = (*request.specs, f"{sysroot} {version}")
    return ask(replace(request, specs=specs, virtual=virtual_packages(request.subdir, version)))


def _glibc(depend: str) -> tuple[int, ...]:
    found = re.search(r"^__glibc\b.*?>=?\s*(\d[\d.]*)", depend)
    return _numbers(found[1]) if found else ()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _solver(name: SolverName) -> Solver:
    """``auto`` is py-rattler, which is always there; micromamba is for those who ask for it."""
    if name == "micromamba":
        from composer.env import micromamba

        return micromamba.ask
    from composer.env import rattler_solver

    return rattler_solver.ask


def _locked(found: Solved, subdir: str, source: str) -> LockedPackage:
    if not re.fullmatch(r"[0-9a-f]{64}", found.sha256):
        raise SpecError(source, f"the channel has no sha256 for {found.name}", "use a channel that has them")
    depends = (row.split(maxsplit=1) for row in found.depends if not row.startswith("__"))
    return LockedPackage(
        target=subdir,
        name=found.name,
        version=found.version,
        url=found.url,
        sha256=found.sha256,
        md5=found.md5,
        dependencies={row[0]: row[1] if len(row) > 1 else "" for row in depends},
    )
