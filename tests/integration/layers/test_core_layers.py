"""The layers of a real environment, and the agent's: sizes, bytes, and that they run."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from composer.env.build import machine_of
from composer.env.built import BuiltEnv
from composer.env.bytecode import PrivatePython
from composer.layers.agent import agent_layer, sources
from composer.layers.layer import Layer
from composer.layers.pack import pack_env
from composer.oci.platform import Platform
from composer.progress import silent
from composer.store.store import Store
from tools.bundle_agent import main as bundle_agent

AGENT_LIMIT = 1 << 20
CORE_LIMIT = 22_000_000


@pytest.fixture(scope="module")
def packed(core_env: BuiltEnv, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, tuple[Layer, ...]]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    return store, pack_env(core_env, store, "gzip", silent)


def members(store: Store, layer: Layer) -> list[tarfile.TarInfo]:
    with tarfile.open(store.blobs.path(layer.descriptor.digest)) as tar:
        return tar.getmembers()


def unpack(store: Store, layers: tuple[Layer, ...], target: Path) -> Path:
    for layer in layers:
        with tarfile.open(store.blobs.path(layer.descriptor.digest)) as tar:
            tar.extractall(target, filter="tar")
    return target


def test_core_is_small(core_env: BuiltEnv, packed: tuple[Store, tuple[Layer, ...]]) -> None:
    store, layers = packed
    agent, _ = agent_layer(store, core_env.prefix, core_env.platform, layers, "gzip")
    assert sum(layer.descriptor.size for layer in (*layers, agent)) <= CORE_LIMIT
    assert len(layers) + 1 <= 10
    assert agent.descriptor.size < AGENT_LIMIT


def test_layers_hold_every_path_of_the_env_once(core_env: BuiltEnv, packed: tuple[Store, tuple[Layer, ...]]) -> None:
    store, layers = packed
    files: list[str] = []
    modes: dict[str, set[int]] = {}
    for layer in layers:
        for member in members(store, layer):
            if member.isdir():
                modes.setdefault(member.name, set()).add(member.mode)
            else:
                files.append(member.name)
    assert len(files) == len(set(files))
    found = {path.relative_to(core_env.root.parent).as_posix() for path in core_env.root.rglob("*")} | {".oc"}
    assert {*files, *modes} == found
    assert set.union(*modes.values()) == {0o755}


def test_two_stores_have_the_same_layers(
    core_env: BuiltEnv, packed: tuple[Store, tuple[Layer, ...]], tmp_path: Path
) -> None:
    store, layers = packed
    other = Store.open(tmp_path)
    assert pack_env(core_env, other, "gzip", silent) == layers
    ours = agent_layer(store, core_env.prefix, core_env.platform, layers, "gzip")
    assert agent_layer(other, core_env.prefix, core_env.platform, layers, "gzip") == ours


def test_the_first_layer_alone_runs_python(packed: tuple[Store, tuple[Layer, ...]], tmp_path: Path) -> None:
    store, layers = packed
    root = unpack(store, layers[:1], tmp_path) / ".oc"
    python = PrivatePython(root, machine_of(Platform.host()))
    program = "import bz2, ctypes, curses, hashlib, lzma, readline, sqlite3, ssl, zlib; print('ok')"
    done = subprocess.run(python.command("-I", "-c", program), capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("ok\n", "")
    assert (root / "run").is_dir()


def test_the_agent_s_layer_holds_its_file_alone(core_env: BuiltEnv, packed: tuple[Store, tuple[Layer, ...]]) -> None:
    store, layers = packed
    agent, _ = agent_layer(store, core_env.prefix, core_env.platform, layers, "gzip")
    rows = [(member.name, member.type, member.mode) for member in members(store, agent)]
    assert rows == [(".oc", tarfile.DIRTYPE, 0o755), (".oc/agent.pyz", tarfile.REGTYPE, 0o644)]


@pytest.mark.root
def test_the_agent_starts_and_its_tracebacks_have_lines(
    core_env: BuiltEnv, packed: tuple[Store, tuple[Layer, ...]], tmp_path: Path
) -> None:
    store, layers = packed
    agent, _ = agent_layer(store, core_env.prefix, core_env.platform, layers, "gzip")
    unpack(store, (*layers, agent), tmp_path)
    start = ["chroot", str(tmp_path), "/.oc/bin/python3", "-I"]
    done = subprocess.run([*start, "/.oc/agent.pyz", "--no-such"], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert "--no-such" in done.stderr
    # The interpreter's own last words have no lines out of an archive; those of the traceback module have.
    program = """if True:
        import sys, traceback
        sys.path.insert(0, "/.oc/agent.pyz")
        from agent_stub.__main__ import main
        try:
            main(1)
        except TypeError:
            traceback.print_exc(limit=-1)
    """
    done = subprocess.run([*start, "-c", program], capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    at = next(number for number, line in enumerate(lines) if '"/.oc/agent.pyz/agent_stub/' in line)
    source = " ".join(text for _, text in sources())
    assert lines[at + 1].strip() in source


def test_a_cached_agent_starts_no_python(core_env: BuiltEnv, packed: tuple[Store, tuple[Layer, ...]]) -> None:
    store, layers = packed
    made = agent_layer(store, core_env.prefix, core_env.platform, layers, "gzip")
    foundation = store.blobs.path(layers[0].descriptor.digest)
    hidden = foundation.with_name("hidden")
    foundation.rename(hidden)
    try:
        assert agent_layer(store, core_env.prefix, core_env.platform, layers, "gzip") == made
    finally:
        hidden.rename(foundation)


def test_the_tool_makes_the_file_of_the_layer(
    core_env: BuiltEnv, packed: tuple[Store, tuple[Layer, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, layers = packed
    agent, digest = agent_layer(store, core_env.prefix, core_env.platform, layers, "gzip")
    assert bundle_agent([str(core_env.root), str(tmp_path / "agent.pyz")]) == 0
    assert str(digest) in capsys.readouterr().out
    assert (tmp_path / "agent.pyz").read_bytes() == (unpack(store, (agent,), tmp_path) / ".oc/agent.pyz").read_bytes()


def test_the_tool_names_a_folder_without_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundle_agent([str(tmp_path), str(tmp_path / "agent.pyz")]) == 80
    assert str(tmp_path) in capsys.readouterr().err
