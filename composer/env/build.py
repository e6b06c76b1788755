"""From a lock to a portable prefix in a stage: fetch, link, make portable, compile, check."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from composer.env.built import BuiltEnv, BuiltPackage
from composer.env.bytecode import compile_all
from composer.env.elf import AARCH64, X86_64, Machine
from composer.env.fetch import PackageCache
from composer.env.files import set_modes
from composer.env.gates.report import raise_failed
from composer.env.link import LinkedPackage, link
from composer.env.loader import check_prefix
from composer.env.lock import Lock, LockedPackage
from composer.env.portable import make_portable
from composer.env.verify import verify_files
from composer.oci.platform import Platform
from composer.progress import Progress, silent
from composer.store.disk import disk_errors
from composer.store.owner import owner

PREFIX = "/.oc"

_STEPS = ("link", "portable", "compile", "check")
_MACHINES = {"linux-64": X86_64, "linux-aarch64": AARCH64}


class Rooted(Protocol):
    """A store, as far as a build needs one: ``packages`` and ``tmp`` are made below ``root``."""

    @property
    def root(self) -> Path:
        """The store's folder."""


def machine_of(platform: Platform) -> Machine:
    """The CPU of a platform that has runtime environments; raises `UsageError`."""
    return _MACHINES[platform.subdir]


@contextmanager
def build_env(
    lock: Lock,
    platform: Platform,
    store: Rooted,
    *,
    prefix: str = PREFIX,
    progress: Progress = silent,
) -> Iterator[BuiltEnv]:
    """Build the environment of ``platform`` in a stage that goes away with the context.

    Equal locks give equal bytes (content, modes, links) for any user, umask, time, locale, folder and channel location.
    The lock's ``channels`` are asked for archives that their own URLs no longer give. Synchronous: use it in a thread
    where an event loop runs. Raises `SpecError`, `ChannelError`, `DigestMismatchError`, `VerifyError`, `StoreError`.
    """
    check_prefix(prefix)
    machine = machine_of(platform)
    packages = lock.of(platform)
    digest = lock.digest(platform)
    archives = PackageCache(store.root / "packages").fetch(packages, progress, lock.channels)
    with _stage(store.root / "tmp") as stage:
        root = stage / prefix[1:]
        progress(_STEPS[0], 0, len(_STEPS))
        linked = link(archives, root, stage / "extracted", prefix)
        progress(_STEPS[1], 1, len(_STEPS))
        with disk_errors(stage):
            moved = make_portable(root, machine, prefix)
            shutil.rmtree(stage / "extracted")
            progress(_STEPS[2], 2, len(_STEPS))
            compile_all(root, machine, prefix)
            set_modes(root)
        env = BuiltEnv(root, prefix, platform, digest, _packages(root, packages, linked, moved))
        progress(_STEPS[3], 3, len(_STEPS))
        raise_failed(verify_files(root, prefix, host_paths=(str(stage), str(store.root))))
        progress(_STEPS[3], len(_STEPS), len(_STEPS))
        yield env


@contextmanager
def _stage(parent: Path) -> Iterator[Path]:
    """A folder below ``parent``; a killed process leaves ``env-PID-*`` for prune."""
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f"env-{owner()}-", dir=parent)).resolve()
        stage.chmod(0o755)
    try:
        yield stage
    except BaseException:
        _remove_for_good(stage)
        raise
    shutil.rmtree(stage, ignore_errors=True)


def _remove_for_good(stage: Path) -> None:
    """Delete the stage of a failed build: rattler's threads may go on writing into it until they fail, too."""
    absent = 0
    for _ in range(250):  # five seconds
        shutil.rmtree(stage, ignore_errors=True)
        absent = 0 if stage.exists() else absent + 1
        if absent == 3:
            return
        time.sleep(0.02)


def _packages(
    root: Path, locked: Sequence[LockedPackage], linked: Sequence[LinkedPackage], moved: Mapping[str, str]
) -> tuple[BuiltPackage, ...]:
    """The records of the packages with the files that are there now, modules with their bytecode."""
    records = {package.name: package for package in linked}
    found = []
    for package in locked:
        record = records[package.name]
        names = {moved.get(name, name) for name in record.files}
        names |= {code for name in names if (code := _bytecode(name))}
        found.append(
            BuiltPackage(
                name=package.name,
                version=package.version,
                build=package.build,
                subdir=package.subdir,
                url=package.url,
                sha256=package.sha256,
                license=record.license,
                files=tuple(sorted(name for name in names if os.path.lexists(root / name))),
            )
        )
    return tuple(found)


def _bytecode(name: str) -> str | None:
    """Where CPython puts the compiled form of a module (PEP 3147)."""
    found = re.fullmatch(r"(lib/python3\.(\d+)/(?:.*/)?)([^/]+)\.py", name)
    return f"{found[1]}__pycache__/{found[3]}.cpython-3{found[2]}.pyc" if found else None
