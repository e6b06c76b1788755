"""From the names of specs to a lock: the one beside the spec, one solved before, or a new one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from composer.env import builtin, lockfile
from composer.env.channel import choose
from composer.env.lock import Lock
from composer.env.solve import SolverName, solve
from composer.env.spec import EnvironmentSpec
from composer.oci.platform import Platform
from composer.progress import Progress, silent
from composer.store.lock import locked
from composer.store.replace import replace_file
from composer.store.store import Store


def resolve_lock(
    names: Sequence[str], channels: Sequence[str], platform: Platform, store: Store, progress: Progress = silent
) -> Lock:
    """The lock of the specs ``names`` for ``platform``.

    The ``conda-lock.yml`` beside a single spec counts, and must match it, unless the caller names channels other than
    those that it was made from. Otherwise the answer is kept in the store under the spec, the channels and the state of
    those that are folders.
    Raises `SpecError`, `ChannelError`, `UnsolvableError`.
    """
    spec = replace(builtin.load(",".join(names)), platforms=(platform.subdir,))
    chosen = choose(spec, channels)
    beside = builtin.lock_path(",".join(names))
    if beside is not None:
        lock = lockfile.load(beside)
        if chosen in (choose(spec, (), {}), lock.channels):
            lock.check(spec, platform)
            return lock
    kept = store.root / "solved" / f"{_key(spec, chosen, platform)}.yml"
    if kept.exists():
        return lockfile.load(kept)
    with locked(kept.with_suffix(".lock")):
        if not kept.exists():
            save(_solve(spec, chosen, store, progress), kept)
    return lockfile.load(kept)


def solve_specs(
    names: Sequence[str],
    channels: Sequence[str],
    platforms: Sequence[Platform],
    store: Store,
    progress: Progress,
    solver: SolverName = "auto",
) -> Lock:
    """A new lock for ``platforms`` (empty: those of the spec), whatever was solved before."""
    spec = builtin.load(",".join(names))
    if platforms:
        spec = replace(spec, platforms=tuple(platform.subdir for platform in platforms))
    return _solve(spec, choose(spec, channels), store, progress, solver)


def save(lock: Lock, path: Path) -> None:
    """Write a lock file: the whole of it, or nothing."""
    replace_file(path, lockfile.render(lock).encode())


def _solve(
    spec: EnvironmentSpec, channels: Sequence[str], store: Store, progress: Progress, solver: SolverName = "auto"
) -> Lock:
    progress("solve the environment", 0, 1)
    lock = solve(spec, channels, store.root / "channels", solver)
    progress("solve the environment", 1, 1)
    return lock


def _key(spec: EnvironmentSpec, channels: Sequence[str], platform: Platform) -> str:
    content = [spec.content_hash(platform.subdir), [[url, _state(url, platform)] for url in channels]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _state(channel: str, platform: Platform) -> list[list[int]]:
    """What changes when a channel in a folder is made anew; nothing for one behind a network, which locks outlive."""
    url = urlsplit(channel)
    if url.scheme != "file":
        return []
    found = []
    for subdir in (platform.subdir, "noarch"):
        try:
            status = (Path(unquote(url.path)) / subdir / "repodata.json").stat()
            found.append([status.st_size, status.st_mtime_ns])
        except OSError:
            found.append([])
    return found
