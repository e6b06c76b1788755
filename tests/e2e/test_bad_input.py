"""Bad input at the command line: one line that names input, cause and next step, and a distinct exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.bases import shared
from tests.kit.images import HOSTILE, member, tar

COMPOSER = str(Path(sys.executable).parent / "composer")


def composer(*arguments: str, store: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMPOSER, *arguments],
        env={**os.environ, "COMPOSER_STORE": str(store), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


CASES = {
    "unknown-scheme": (["build", "ftp:x"], 64, "usage"),
    "missing-rootfs": (["build", "rootfs:/nowhere.tar"], 66, "base_not_found"),
    "missing-layout": (["build", "oci:/nowhere"], 66, "base_not_found"),
    "unknown-platform": (["build", "scratch", "--platform", "amd64"], 64, "usage"),
    "unknown-env": (["build", "scratch", "--env", "nothing"], 78, "bad_spec"),
    "unknown-sandbox": (["down", "nothing"], 84, "sandbox_not_found"),
    "unknown-engine": (["run", "scratch", "--engine", "vmware", "--", "true"], 64, "usage"),
    "missing-channel": (["build", "scratch", "--channel", "file:///nowhere"], 75, "channel_unreachable"),
    "bad-limit": (["run", "scratch", "--memory", "much", "--", "true"], 64, "usage"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_a_distinct_status(case: str, tmp_path: Path) -> None:
    arguments, status, code = CASES[case]
    done = composer(*arguments, store=tmp_path)
    assert done.returncode == status, done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("composer: error: ")
    assert "Traceback" not in done.stderr
    if arguments[0] == "build":
        as_json = composer(*arguments, "--json", store=tmp_path)
        assert json.loads(as_json.stdout)["error"]["code"] == code


def locked_spec(folder: Path, channel: str, store: Path) -> Path:
    """A spec of the user's own with the lock that `composer lock` writes beside it."""
    folder.mkdir()
    (folder / "environment.yml").write_text("name: mine\ndependencies:\n  - tzdata\n  - sysroot_linux-64\n")
    done = composer("lock", str(folder), "--channel", channel, store=store)
    assert done.returncode == 0, done.stderr
    return folder / "conda-lock.yml"


def test_a_lock_whose_hash_does_not_match(channel: str, tmp_path: Path) -> None:
    lock = locked_spec(tmp_path / "mine", channel, tmp_path / "store")
    lock.write_text(re.sub(r"sha256: [0-9a-f]{8}", "sha256: 00000000", lock.read_text()))
    done = composer("build", "scratch", "--env", str(lock.parent), "--channel", channel, store=tmp_path / "store")
    assert done.returncode == 76, done.stderr
    assert done.stderr.count("\n") == 1


def test_a_lock_of_another_spec(channel: str, tmp_path: Path) -> None:
    lock = locked_spec(tmp_path / "mine", channel, tmp_path / "store")
    spec = lock.with_name("environment.yml")
    spec.write_text(spec.read_text() + "  - bash\n")
    done = composer("build", "scratch", "--env", str(lock.parent), "--channel", channel, store=tmp_path / "store")
    assert done.returncode == 78, done.stderr


def test_base_of_another_architecture_is_refused(tmp_path: Path) -> None:
    other = shared("alpine-3.20.3").replace(os.uname().machine, "aarch64")
    done = composer("build", other, "--platform", "linux/amd64", store=tmp_path)
    assert done.returncode == 67, done.stderr


def test_help_and_usage(tmp_path: Path) -> None:
    assert composer("--help", store=tmp_path).returncode == 0
    assert composer("nothing", store=tmp_path).returncode == 64


BAD_TARS = {
    "prefix-conflict": (lambda: tar(member(".oc")), 68, "prefix_conflict"),
    "hostile": (HOSTILE["hard-link-out"], 65, "bad_archive"),
    "truncated": (HOSTILE["truncated-gzip"], 65, "bad_archive"),
}


@pytest.mark.parametrize("case", BAD_TARS)
def test_bad_root_file_system(case: str, tmp_path: Path) -> None:
    make, status, code = BAD_TARS[case]
    path = tmp_path / "base.tar"
    path.write_bytes(make())
    done = composer("build", f"rootfs:{path}", "--json", store=tmp_path / "store")
    assert done.returncode == status, done.stderr
    assert json.loads(done.stdout)["error"]["code"] == code
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr


_FULL = 'mount -t tmpfs -o size=64k tmpfs "$1" && exec "$2" build "$3" --json'


@pytest.mark.root
def test_full_disk(tmp_path: Path) -> None:
    path, store = tmp_path / "base.tar", tmp_path / "store"
    path.write_bytes(tar(member("a", data=os.urandom(1 << 20))))
    store.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", _FULL, "sh", str(store), COMPOSER, f"rootfs:{path}"],
        env={**os.environ, "COMPOSER_STORE": str(store)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 74, done.stderr
    assert json.loads(done.stdout)["error"]["code"] == "disk_full"
    assert done.stderr.count("\n") == 1
