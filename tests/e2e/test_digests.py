"""Equal inputs, equal bytes: over bases, folders, users, umasks, time zones, locales and dates."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from composer.build import BuildRequest, build
from composer.store.store import Store
from tests.kit.bases import shared
from tests.kit.skip import unavailable

COMPOSER = str(Path(sys.executable).parent / "composer")


def test_two_bases_get_the_same_layers(core_store: Store) -> None:
    first = build(BuildRequest("scratch"), core_store)
    second = build(BuildRequest(shared("alpine-3.20.3")), core_store)
    ours = [layer.descriptor.digest for layer in first.runtime.all]
    assert [blob.descriptor.digest for blob in second.plan.layers][-len(ours) :] == ours
    assert [blob.descriptor.digest for blob in first.plan.layers] == ours


@pytest.mark.slow
@pytest.mark.root
def test_two_builds_under_different_circumstances_are_identical(channel: str, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        unavailable("needs root, to build as another user")
    faketime = shutil.which("faketime")
    if faketime is None:
        unavailable("faketime is not installed")
    plain = _build(tmp_path / "one", channel, umask="022", environment={"TZ": "UTC", "LC_ALL": "C"})
    odd = _build(
        tmp_path / "another folder",
        channel,
        umask="077",
        environment={"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"},
        # The interpreter may lie in a folder of root's: a user namespace changes who we are, not what we may read.
        wrapper=["unshare", "--user", "--map-user=12345", "--map-group=12345", faketime, "-f", "-1000d"],
    )
    assert plain == odd


def _build(
    store: Path, channel: str, *, umask: str, environment: dict[str, str], wrapper: list[str] | None = None
) -> dict[str, object]:
    store.mkdir()
    command = [*(wrapper or []), COMPOSER, "build", shared("alpine-3.20.3"), "--channel", channel, "--json"]
    done = subprocess.run(
        ["sh", "-c", f'umask {umask}; exec "$@"', "sh", *command],
        env={"PATH": os.environ["PATH"], "COMPOSER_STORE": str(store), **environment},
        cwd=store,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    kept = ("manifest_digest", "config_digest", "lock_digest", "agent_digest", "tags", "layers")
    return {key: result[key] for key in kept}
