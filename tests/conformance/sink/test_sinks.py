"""One suite over every sink: the same plan gives the same image, whole or not at all."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from composer.bases.open import open_base
from composer.errors import ComposerError
from composer.plan.append import plan_append
from composer.plan.values import Options, Plan, PlannedBlob
from composer.sinks.open import open_sink
from composer.store.store import Store
from tests.kit.dockerd import dockerd
from tests.kit.images import AMD64, member, runtime, tar

SCHEMES = ("store", "oci", "oci-archive", "docker-archive", "docker-daemon")


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    with dockerd(network=False) as host:
        yield host


@pytest.fixture(params=[*SCHEMES[:4], pytest.param(SCHEMES[4], marks=pytest.mark.docker)])
def sink(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    if request.param == "docker-daemon":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("engine"))
        return "docker-daemon:made:1"
    return None if request.param == "store" else f"{request.param}:{tmp_path / 'out'}"


class Composed:
    """A plan on a small root file system, and its blobs; ``broken`` gives other bytes for every layer."""

    def __init__(self, folder: Path, content: bytes = b"base") -> None:
        self.store = Store.open(folder / "store")
        path = folder / "base.tar"
        path.write_bytes(tar(member("a", data=content)))
        self._base = open_base(f"rootfs:{path}", self.store)
        self.plan: Plan = plan_append(self._base.resolve(AMD64), runtime(self.store), Options())

    @contextmanager
    def read(self, blob: PlannedBlob) -> Iterator[BinaryIO]:
        with self._base.open_layer(blob.descriptor) as file:
            yield file

    @contextmanager
    def broken(self, _blob: PlannedBlob) -> Iterator[BinaryIO]:
        yield io.BytesIO(b"garbage")


def quiet(_what: str, _done: int, _total: int) -> None:
    pass


def test_round_trip(sink: str | None, tmp_path: Path) -> None:
    made = Composed(tmp_path)
    target = open_sink(sink, "made:1", made.store)
    assert not target.has(made.plan)
    assert target.apply(made.plan, made.read, quiet).config_digest == made.plan.config_digest
    assert target.has(made.plan)
    assert target.apply(made.plan, made.read, quiet).bytes_moved == 0
    back = open_base(sink or "made:1", Store.open(tmp_path / "other" if sink else made.store.root)).resolve(AMD64)
    assert back.config == made.plan.config
    if sink is None or sink.startswith("oci"):
        assert back.manifest == made.plan.manifest


def test_failure_leaves_nothing(sink: str | None, tmp_path: Path) -> None:
    made = Composed(tmp_path, content=str(tmp_path).encode())
    if sink is None:
        pytest.skip("the store has every layer already")
    name = sink.replace("made", "never")
    target = open_sink(name, "made:1", made.store)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ComposerError):
        target.apply(made.plan, made.broken, quiet)
    assert not target.has(made.plan)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("scheme", ["oci", "oci-archive", "docker-archive"])
def test_skopeo_reads_it(scheme: str, tmp_path: Path) -> None:
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    made = Composed(tmp_path)
    open_sink(f"{scheme}:{tmp_path / 'out'}", "made:1", made.store).apply(made.plan, made.read, quiet)
    suffix = "" if scheme == "docker-archive" else ":made:1"
    command = [
        "skopeo",
        "copy",
        "--insecure-policy",
        f"{scheme}:{tmp_path / 'out'}{suffix}",
        f"dir:{tmp_path / 'copy'}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_archive_is_replaced_as_a_whole(tmp_path: Path) -> None:
    first, second = Composed(tmp_path), Composed(tmp_path, b"other")
    place = f"oci-archive:{tmp_path / 'out.tar'}"
    for made in (first, second):
        open_sink(place, "made:1", made.store).apply(made.plan, made.read, quiet)
    assert open_base(place, second.store).resolve(AMD64).config == second.plan.config
