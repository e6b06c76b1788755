"""Real environments of the local channel: built, compared, started."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from composer.env import lockfile
from composer.env.build import build_env
from composer.env.built import BuiltEnv
from composer.env.bytecode import PrivatePython
from composer.env.elf import X86_64
from composer.env.lock import Lock
from composer.env.verify import verify_env
from composer.errors import ArchiveError, DigestMismatchError
from composer.oci.platform import Platform
from composer.store.store import Store
from tests.kit.channel import ROOT
from tests.kit.env import kept_env, lock_core, tree_digest

OF_NO_PACKAGE = {"ld-linux-x86-64.so.2", "nsswitch.conf", "lib64/gconv", "lib/x86_64-linux-gnu/gconv"}


def entries(root: Path) -> set[str]:
    """Paths of everything but folders."""
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_symlink() or not p.is_dir()}


@pytest.mark.parametrize("glibc", ["", "2.36.*"], ids=["newest glibc", "older glibc"])
def test_every_gate_passes(channel: str, tmp_path: Path, glibc: str):
    lock = lock_core(channel, tmp_path, *([f"sysroot_linux-64 {glibc}"] if glibc else []))
    env = kept_env(lock)
    for gate in verify_env(env):
        assert gate.passed, f"{gate.name}: {gate.detail}"


def test_each_file_belongs_to_one_package(core_env: BuiltEnv):
    files = [name for package in core_env.packages for name in package.files]
    assert len(files) == len(set(files))
    assert entries(core_env.root) - set(files) <= OF_NO_PACKAGE
    owners = {name: package.name for package in core_env.packages for name in package.files}
    assert owners["lib/libc.so.6"] == "sysroot_linux-64"
    assert owners["bin/python3.11"] == "python"
    assert owners["lib/python3.11/__pycache__/os.cpython-311.pyc"] == "python"
    assert all(package.license for package in core_env.packages)
    assert (core_env.root / "run").is_dir()
    assert not os.listdir(core_env.root / "run")


def test_core_is_at_most_22_mb(core_env: BuiltEnv):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(core_env.root, ".oc")
    assert len(gzip.compress(buffer.getvalue(), 6)) <= 22_000_000


def test_all_modules_are_compiled(core_env: BuiltEnv):
    source = {name for name in entries(core_env.root) if name.endswith(".py") and "/lib2to3/tests/" not in name}
    code = {name for name in entries(core_env.root) if name.endswith(".pyc")}
    bare = {n for n in source if "{}/__pycache__/{}.cpython-311.pyc".format(*n[:-3].rsplit("/", 1)) not in code}
    assert len(source) - len(bare) == len(code)
    assert len(bare) <= 5, bare


def built_by(lock: Lock, store: Path, umask: str, variables: dict[str, str], wrapper: Sequence[str] = ()) -> list[str]:
    """The digests of a build in another process."""
    lock_file = store.with_suffix(".yml")
    lock_file.write_text(lockfile.render(lock))
    done = subprocess.run(
        [*wrapper, sys.executable, "-m", "tests.kit.env", str(lock_file), str(store), umask],
        cwd=ROOT, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(store), **variables},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    digests: list[str] = json.loads(done.stdout)
    return digests


def another_user() -> list[str]:
    """A command that gives the next one another uid, but the same rights to files; empty when none can."""
    command = ["unshare", "--map-user=4242", "--map-group=4242"]
    return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []


@pytest.mark.slow
def test_equal_locks_give_equal_bytes(core_lock: Lock, tmp_path: Path):
    here, there = tmp_path / "a", tmp_path / "a folder with a longer name" / "b"
    for store in (here, there):
        store.mkdir(parents=True)
    plain = {"TZ": "UTC", "LC_ALL": "C"}
    other = {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1"}
    first = built_by(core_lock, here, "022", plain)
    assert built_by(core_lock, there, "077", other, another_user()) == first
    assert [p for store in (here, there) for p in (store / "tmp").iterdir()] == []


def test_archives_are_as_they_were_after_a_build(core_lock: Lock, tmp_path: Path):
    store = Store.open(tmp_path)
    with build_env(core_lock, Platform.host(), store) as first:
        digest = tree_digest(first.root)
    with build_env(core_lock, Platform.host(), store) as second:
        assert tree_digest(second.root) == digest
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("damage", ["lock", "archive"])
def test_a_package_with_another_digest_is_refused_and_leaves_no_stage(core_lock: Lock, tmp_path: Path, damage: str):
    first, *others = core_lock.packages
    if damage == "lock":
        first = replace(first, sha256="0" * 64)
    else:
        copy = tmp_path / first.subdir / first.file_name
        copy.parent.mkdir()
        copy.write_bytes(b"not the archive")
        first = replace(first, url=copy.as_uri())
    lock = replace(core_lock, packages=(first, *others))
    with pytest.raises(DigestMismatchError), build_env(lock, Platform.host(), Store.open(tmp_path / "s")):
        pass
    assert not list((tmp_path / "s/tmp").iterdir())


def test_a_lock_of_a_channel_that_has_moved_is_built_from_where_it_is_now(
    core_lock: Lock, core_env: BuiltEnv, tmp_path: Path
):
    (channel,) = core_lock.channels
    moved = tuple(replace(p, url=p.url.replace(channel, "file:///nonexistent")) for p in core_lock.packages)
    lock = replace(core_lock, packages=moved)
    with build_env(lock, Platform.host(), Store.open(tmp_path)) as env:
        assert tree_digest(env.root) == tree_digest(core_env.root)


def test_an_archive_that_is_none_is_refused(core_lock: Lock, tmp_path: Path):
    first, *others = core_lock.packages
    copy = tmp_path / first.subdir / first.file_name
    copy.parent.mkdir()
    copy.write_bytes(b"not an archive")
    false = replace(first, url=copy.as_uri(), sha256=hashlib.sha256(b"not an archive").hexdigest())
    lock = replace(core_lock, packages=(false, *others))
    with (
        pytest.raises(ArchiveError, match="is not a conda package"),
        build_env(lock, Platform.host(), Store.open(tmp_path / "s")),
    ):
        pass
    assert not list((tmp_path / "s/tmp").iterdir())


def test_an_interrupted_build_leaves_no_stage(core_lock: Lock, tmp_path: Path):
    def interrupt(what: str, done: int, total: int) -> None:
        if what == "compile":
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        build_env(core_lock, Platform.host(), Store.open(tmp_path), progress=interrupt),
    ):
        pass
    assert not list((tmp_path / "tmp").iterdir())


_SELF_TEST = """
import ctypes, curses, os, socket, ssl, sys, time
import bz2, lzma, readline, sqlite3, uuid, hashlib, decimal
import msgpack, pexpect, ptyprocess, zmq
assert len(ssl.create_default_context().get_ca_certs()) > 100
os.environ["TZ"] = "Europe/Berlin"
time.tzset()
assert time.strftime("%Z", time.localtime(1700000000)) == "CET"
curses.setupterm("xterm-256color")
assert sys.prefix == "/.oc" and sys.executable == "/.oc/bin/python3.11", (sys.prefix, sys.executable)
context = zmq.Context()
answer, question = context.socket(zmq.REP), context.socket(zmq.REQ)
answer.bind("ipc://@composer-self-test")
question.connect("ipc://@composer-self-test")
question.send(msgpack.packb(["x"]))
assert answer.poll(5000) and msgpack.unpackb(answer.recv()) == ["x"]
"""


@pytest.mark.root
def test_what_core_is_for_works_in_an_empty_root(core_env: BuiltEnv, tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    shutil.copytree(core_env.root, tmp_path / ".oc", symlinks=True)
    tmp_path.chmod(0o755)
    done = subprocess.run(
        ["chroot", "--userspec=4242:4242", str(tmp_path), "/.oc/bin/python3.11", "-I", "-c", _SELF_TEST],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_private_python_runs_from_a_stage(core_env: BuiltEnv):
    command = PrivatePython(core_env.root, X86_64).command("-I", "-c", "import sys; print(sys.prefix)")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{core_env.root}\n"
