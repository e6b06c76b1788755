"""The whole local channel: made twice, solved and linked by py-rattler for the runtime's prefix, and run."""

from __future__ import annotations

import asyncio
import filecmp
import subprocess
import time
from pathlib import Path

import pytest

from composer.errors import ChannelError
from tests.kit.skip import unavailable
from tools.channel.__main__ import default_cache
from tools.channel.build import Request, Result, build
from tools.channel.errors import ToolMissingError
from tools.channel.package import LONG_PLACEHOLDER

_SPECS = ["python 3.11.*", "bash", "pyzmq", "msgpack-python", "pexpect", "ncurses", "libstdcxx", "ca-certificates"]


def silent(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Result:
    try:
        return build(Request(), tmp_path_factory.mktemp("first") / "channel", default_cache(), silent)
    except (ChannelError, ToolMissingError) as error:
        unavailable(f"no local channel: {error}")


@pytest.fixture(scope="module", params=["2.36", "2.41"])
def linked(request: pytest.FixtureRequest, channel: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core env linked for ``/.oc``, with one of the channel's two glibc versions."""
    root = tmp_path_factory.mktemp("stage") / ".oc"
    asyncio.run(_link(channel.directory, [*_SPECS, f"sysroot_linux-64 {request.param}.*"], request.param, root))
    return root


async def _link(channel: Path, specs: list[str], glibc: str, root: Path) -> None:
    import rattler

    virtual = [
        rattler.GenericVirtualPackage(rattler.PackageName(name), rattler.Version(version), rattler.BuildString("0"))
        for name, version in (("__glibc", glibc), ("__linux", "5.10"), ("__unix", "0"))
    ]
    url = rattler.Channel(channel.as_uri())
    records = await rattler.solve([url], specs, platforms=["linux-64", "noarch"], virtual_packages=virtual)
    await rattler.install(
        records, root, cache_dir=root.parent / "cache", show_progress=False, alternative_target_prefix="/.oc"
    )


def run(root: Path, code: str) -> str:
    """Run Python code in the linked env by the env's own loader, at the place where it is staged."""
    lib64 = root / "x86_64-conda-linux-gnu/sysroot/lib64"
    command = [lib64 / "ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", f"{lib64}:{root}/lib"]
    result = subprocess.run(
        [*command, root / "bin/python3.11", "-I", "-B", "-c", code], capture_output=True, text=True, check=True, env={}
    )
    return result.stdout.strip()


def test_the_second_run_changes_nothing_and_takes_no_time(channel: Result) -> None:
    started = time.monotonic()
    again = build(Request(), channel.directory, default_cache(), silent)
    assert again.unchanged
    assert again.inputs == channel.inputs
    assert time.monotonic() - started < 1


def test_another_directory_gets_the_same_bytes(channel: Result, tmp_path: Path) -> None:
    other = build(Request(), tmp_path / "channel", default_cache(), silent)
    assert other.inputs == channel.inputs
    for subdir in ("noarch", "linux-64"):
        names = [path.name for path in (channel.directory / subdir).iterdir()]
        match, *rest = filecmp.cmpfiles(channel.directory / subdir, tmp_path / "channel" / subdir, names, shallow=False)
        assert sorted(match) == sorted(names)
        assert rest == [[], []]


def test_the_other_format_has_the_same_packages(channel: Result, tmp_path: Path) -> None:
    other = build(Request(glibc=("old",), fmt="bz2"), tmp_path / "channel", default_cache(), silent)
    stems = {path.name.removesuffix(".tar.bz2") for path in other.directory.glob("*/*.tar.bz2")}
    assert len(stems) == other.packages
    assert stems <= {path.name.removesuffix(".conda") for path in channel.directory.glob("*/*.conda")}


def test_the_env_runs_with_its_own_glibc(linked: Path) -> None:
    assert run(linked, "import zmq, msgpack, pexpect, ssl, sqlite3, lzma, bz2, ctypes, readline; print('ok')") == "ok"
    opened = "print({line.split()[-1] for line in open('/proc/self/maps') if '.so' in line})"
    of_base = [name for name in run(linked, opened).strip("{}").split(", ") if str(linked) not in name]
    assert of_base == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("bin/python3.11", b"\0/.oc\0", id="python, binary"),
        pytest.param("lib/libcrypto.so.3", b'OPENSSLDIR: "/.oc/ssl"', id="openssl, binary"),
        pytest.param("lib/libtinfo.so.6", b"/.oc/share/terminfo\0", id="ncurses, binary"),
        pytest.param("bin/pydoc3.11", b"#!/.oc/bin/python3.11\n", id="script, text"),
        pytest.param("lib/python3.11/_sysconfigdata__x86_64-linux-gnu.py", b"'/.oc/lib'", id="settings, text"),
    ],
)
def test_placeholders_become_the_prefix(linked: Path, name: str, expected: bytes) -> None:
    data = (linked / name).read_bytes()
    assert expected in data
    assert b"/_pl" not in data
    assert LONG_PLACEHOLDER.encode() not in data


def test_libraries_find_each_other_by_their_run_paths(linked: Path) -> None:
    for name in ("bin/bash", "lib/libssl.so.3"):
        assert b"$ORIGIN/../lib\0" in (linked / name).read_bytes()
