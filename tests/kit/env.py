"""A built core environment for tests, made once per lock and source of the builder; and what compares two of them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from composer.env import builtin, lockfile
from composer.env.build import build_env
from composer.env.built import BuiltEnv, BuiltPackage
from composer.env.lock import Lock
from composer.env.solve import solve
from composer.oci.digest import Digest
from composer.oci.platform import Platform
from composer.store.lock import locked
from composer.store.store import Store
from tests.kit.channel import cache_root, channel_url, keep_newest, source_digest


def lock_core(channel: str, cache: Path, *pins: str) -> Lock:
    """Solve core for this machine from ``channel``, with more match specs."""
    spec = builtin.load("core")
    spec = replace(spec, dependencies=(*spec.dependencies, *pins), platforms=(Platform.host().subdir,))
    return solve(spec, [channel], cache)


def kept_env(lock: Lock) -> BuiltEnv:
    """The environment of ``lock`` from the test cache, built when it is not there. Do not write into it."""
    digest = lock.digest(Platform.host())
    folder = cache_root() / "envs"
    made = folder / f"{digest.short}-{source_digest('composer/env')}"
    with locked(folder / "lock"):
        if not (made / "packages.json").is_file():
            shutil.rmtree(made, ignore_errors=True)
            with build_env(lock, Platform.host(), Store.open(folder / "store")) as built:
                shutil.copytree(built.root, made / built.prefix[1:], symlinks=True)
                (made / "packages.json").write_text(json.dumps([asdict(package) for package in built.packages]))
            keep_newest(folder, 6)
    rows = json.loads((made / "packages.json").read_text())
    packages = tuple(BuiltPackage(**{**row, "files": tuple(row["files"])}) for row in rows)
    return BuiltEnv(made / ".oc", "/.oc", Platform.host(), digest, packages)


def kept_store(lock: Lock) -> Store:
    """A store that has the layers of ``lock`` and the agent's already, so that builds in it are warm."""
    from composer.build import BuildRequest, runtime_layers

    folder = cache_root() / "stores"
    made = folder / f"{lock.digest(Platform.host()).short}-{source_digest('composer/env', 'composer/layers')}"
    with locked(folder / "lock"):
        store = Store.open(made)
        runtime_layers(BuildRequest("scratch"), lock, store)
        keep_newest(folder)
    return store


def tree_digest(root: Path) -> str:
    """A digest over every entry of a tree: path, type, mode, content or target of a link; not times or owners."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(folder, name)
            status = path.lstat()
            content = b""
            if path.is_symlink():
                content = os.fsencode(path.readlink())
            elif path.is_file():
                content = hashlib.sha256(path.read_bytes()).digest()
            kind = stat.S_IFMT(status.st_mode)
            mode = 0 if path.is_symlink() else stat.S_IMODE(status.st_mode)
            digest.update(f"{path.relative_to(root)}\0{kind}\0{mode}\0".encode() + content + b"\0")
    return digest.hexdigest()


@pytest.fixture(scope="session")
def core_lock(channel: str, tmp_path_factory: pytest.TempPathFactory) -> Lock:
    """Core, solved from the local channel."""
    return lock_core(channel, tmp_path_factory.mktemp("repodata"))


@pytest.fixture(scope="session")
def core_env(core_lock: Lock) -> BuiltEnv:
    """Core, built. Read it only."""
    return kept_env(core_lock)


@pytest.fixture(scope="session")
def core_store(core_lock: Lock, channel: str) -> Iterator[Store]:
    """A store with core's layers, shared by all tests: add to it, delete nothing. Builds use the local channel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSER_CHANNEL", channel)
        yield kept_store(core_lock)


def main(lock_file: str, store: str, umask: str) -> None:
    """Build in this process, for tests that need another user, umask or time zone; prints digests."""
    os.umask(int(umask, 8))
    lock = lockfile.load(Path(lock_file))
    with build_env(lock, Platform.host(), Store.open(Path(store))) as built:
        sys.stdout.write(json.dumps([tree_digest(built.root), Digest.of(repr(built.packages).encode())]))


if __name__ == "__main__":
    main(*sys.argv[1:])


__all__ = ["channel_url", "core_env", "core_lock", "core_store", "kept_env", "kept_store", "lock_core", "tree_digest"]
