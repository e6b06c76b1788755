"""The commands as people type them: run, up, ls, call, logs, down, inspect, env."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from composer.store.store import Store
from tests.kit.bases import shared

pytestmark = pytest.mark.root
COMPOSER = str(Path(sys.executable).parent / "composer")


def composer(*arguments: str, store: Store) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMPOSER, *arguments],
        env={**os.environ, "COMPOSER_STORE": str(store.root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("words", "output", "status"),
    [
        (["echo $((6 * 7)); exit 3"], "42\n", 3),
        (["printf", "%s|", "a b", "$HOME"], "a b|$HOME|", 0),
        (["kill -9 $$"], "", 137),
    ],
    ids=["text", "words", "signal"],
)
def test_run_streams_and_exits_with_the_commands_code(
    words: list[str], output: str, status: int, core_store: Store
) -> None:
    done = composer("run", "scratch", "--", *words, store=core_store)
    assert (done.stdout, done.returncode) == (output, status), done.stderr


def test_run_times_out(core_store: Store) -> None:
    done = composer("run", shared("alpine-3.20.3"), "--timeout", "0.3", "--", "sleep 60", store=core_store)
    assert done.returncode == 124


def test_run_as_json(core_store: Store) -> None:
    done = composer("run", "scratch", "--json", "--", "echo hi; false", store=core_store)
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert (result["output"], result["exit_code"], result["cwd"]) == ("hi\n", 1, "/")


def test_a_sandbox_that_stays(core_store: Store) -> None:
    name = f"test-{os.getpid()}"
    assert composer("up", "scratch", "--name", name, store=core_store).stdout == f"{name}\n"
    try:
        rows = json.loads(composer("ls", "--json", store=core_store).stdout)
        assert [row["state"] for row in rows if row["name"] == name] == ["running"]
        called = composer("call", name, "run", '{"command": "cd /tmp && echo there"}', store=core_store)
        assert json.loads(called.stdout)["raw"] == ["there\n"]
        again = composer("call", name, "run", '{"command": "pwd"}', store=core_store)
        assert json.loads(again.stdout)["raw"] == ["/tmp\n"]
        assert '"ready"' in composer("logs", name, store=core_store).stdout
        twice = composer("up", "scratch", "--name", name, store=core_store)
        assert twice.returncode not in (0, 70)
    finally:
        assert composer("down", name, store=core_store).returncode == 0
    rows = json.loads(composer("ls", "--json", store=core_store).stdout)
    assert name not in [row["name"] for row in rows]


def test_interrupted_run_leaves_nothing(core_store: Store) -> None:
    process = subprocess.Popen(
        [COMPOSER, "run", "scratch", "--", "echo started; read -t 60 line"],
        env={**os.environ, "COMPOSER_STORE": str(core_store.root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout
    with process.stdout:
        assert process.stdout.readline() == b"started\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
    deadline = time.monotonic() + 5
    while sandboxes(core_store) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sandboxes(core_store) == []


def sandboxes(store: Store) -> list[str]:
    return [path.name for path in (store.root / "sandboxes").iterdir() if not path.name.startswith(".")]


def test_build_writes_metadata_and_inspect_shows_the_layers(core_store: Store, tmp_path: Path) -> None:
    metadata = tmp_path / "metadata.json"
    target = f"oci:{tmp_path / 'image'}"
    done = composer("build", "scratch", "-t", "a:b", "-o", target, "--metadata-file", str(metadata), store=core_store)
    assert done.returncode == 0, done.stderr
    result = json.loads(metadata.read_text())
    shown = json.loads(composer("inspect", f"{target}:a:b", "--json", store=core_store).stdout)
    assert shown["manifest_digest"] == result["manifest_digest"]
    assert shown["carries_runtime"]
    assert [layer["digest"] for layer in shown["layers"]] == [layer["digest"] for layer in result["layers"]]


def test_envs_are_listed_and_verified(core_store: Store) -> None:
    listed = json.loads(composer("env", "ls", "--json", store=core_store).stdout)
    assert listed
    gates = json.loads(composer("env", "verify", "core", "--json", store=core_store).stdout)
    assert gates
    assert all(gate["passed"] for gate in gates)
