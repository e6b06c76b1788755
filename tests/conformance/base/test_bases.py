"""One suite over every source of a base."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from composer.bases.open import open_base
from composer.errors import ArchiveError, BaseNotFoundError, DigestMismatchError, PlatformError, PrefixConflictError
from composer.oci.digest import Digest
from composer.oci.mediatype import DOCKER, OCI
from composer.oci.platform import Platform
from composer.store.store import Store
from tests.conformance.base.sources import SOURCES, docker_archive, of_entries
from tests.kit.bases import SHARED, busybox_layout
from tests.kit.dockerd import docker_host
from tests.kit.images import AMD64, member

__all__ = ["docker_host"]

ARM64 = Platform("linux", "arm64")
ELF = b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00" + bytes(44)
LAYERS = of_entries(member("bin", tarfile.DIRTYPE), member("bin/true", data=ELF))
Make = Callable[[tuple[bytes, ...]], str]


@pytest.fixture(params=[*SOURCES, pytest.param("docker-daemon", marks=pytest.mark.docker)])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    folder = tmp_path / "source"
    folder.mkdir()
    if request.param != "docker-daemon":
        return lambda layers: SOURCES[request.param](folder, layers)
    host = request.getfixturevalue("docker_host")
    monkeypatch.setenv("DOCKER_HOST", host)

    def load(layers: tuple[bytes, ...]) -> str:
        path = docker_archive(folder, layers).partition(":")[2]
        subprocess.run(["docker", "--host", host, "load", "-qi", path], check=True, capture_output=True)
        return "docker-daemon:made:1"

    return load


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def test_resolved_image_is_whole(make: Make, store: Store) -> None:
    reference = make(LAYERS)
    base = open_base(reference, store)
    image = base.resolve(AMD64)
    manifest = json.loads(image.manifest)
    assert image.manifest_digest == Digest.of(image.manifest)
    assert manifest["config"]["digest"] == Digest.of(image.config)
    assert [row["digest"] for row in manifest["layers"]] == [row.digest for row in image.layers]
    assert image.family is (DOCKER if reference.startswith("docker") else OCI)
    assert image.diff_ids == (Digest.of(LAYERS[0]),)
    assert json.loads(image.config)["rootfs"]["diff_ids"] == list(image.diff_ids)
    assert list(base.platforms()) == [AMD64]
    base.check_prefix(image, "/.oc")
    with base.open_layer(image.layers[0]) as file:
        data = file.read()
    assert (Digest("sha256:" + hashlib.sha256(data).hexdigest()), len(data)) == (
        image.layers[0].digest,
        image.layers[0].size,
    )
    assert open_base(reference, store).resolve(AMD64) == image


def test_another_platform_names_what_there_is(make: Make, store: Store) -> None:
    with pytest.raises(PlatformError, match="linux/amd64"):
        open_base(make(LAYERS), store).resolve(ARM64)


@pytest.mark.parametrize(
    "entry",
    [member(".oc"), member(".oc", tarfile.SYMTYPE, "usr"), member(".oc/theirs", data=b"x")],
    ids=["file", "link", "content"],
)
def test_prefix_conflict(make: Make, store: Store, entry: tuple[tarfile.TarInfo, bytes]) -> None:
    base = open_base(make(of_entries(entry)), store)
    with pytest.raises(PrefixConflictError, match=r"/\.oc"):
        base.check_prefix(base.resolve(AMD64), "/.oc")


@pytest.mark.parametrize("scheme", ["oci", "oci-archive", "docker-archive", "rootfs"])
def test_missing(scheme: str, store: Store, tmp_path: Path) -> None:
    with pytest.raises(BaseNotFoundError, match="nothing"):
        open_base(f"{scheme}:{tmp_path / 'nothing'}", store).resolve(AMD64)


@pytest.mark.docker
def test_missing_in_the_engine(docker_host: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    with pytest.raises(BaseNotFoundError, match="nothing"):
        open_base("docker-daemon:nothing:1", store).resolve(AMD64)


# Nothing promises the digest of a plain tarball.
@pytest.mark.parametrize("source", [name for name in SOURCES if name != "rootfs"])
def test_damaged_layer(source: str, store: Store, tmp_path: Path) -> None:
    reference = SOURCES[source](tmp_path, LAYERS)
    path = Path(reference.partition(":")[2])
    if path.is_dir():
        path = path / "blobs" / "sha256" / Digest.of(LAYERS[0]).hex
    data = path.read_bytes()
    # Plain tars are found by what they hold, compressed ones by their tails.
    place = data.find(ELF) + 20 if ELF in data else len(data) - 10
    if source == "docker-archive-gzip":
        place = data.find(b"\x1f\x8b") + 20
    path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
    base = open_base(reference, store)
    with pytest.raises((ArchiveError, DigestMismatchError)):
        base.check_prefix(base.resolve(AMD64), "/.oc")


def test_scratch(store: Store) -> None:
    base = open_base("scratch", store)
    image = base.resolve(ARM64)
    assert (image.layers, image.diff_ids, image.platform) == ((), (), ARM64)
    assert AMD64 in list(base.platforms())
    base.check_prefix(image, "/.oc")


@pytest.mark.parametrize("libc", ["glibc", "musl", "uclibc"])
def test_official_busybox_keeps_its_bytes(libc: str, store: Store) -> None:
    image = open_base(busybox_layout(libc), store).resolve(AMD64)
    stem = SHARED / f"busybox-{libc}-x86_64"
    assert image.config == stem.with_name(stem.name + ".config.json").read_bytes()
    assert image.manifest == stem.with_name(stem.name + ".manifest.json").read_bytes()


@pytest.mark.docker
def test_damaged_config_of_the_store_is_saved_again(
    docker_host: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    path = docker_archive(tmp_path, LAYERS).partition(":")[2]
    subprocess.run(["docker", "--host", docker_host, "load", "-qi", path], check=True, capture_output=True)
    first = open_base("docker-daemon:made:1", store).resolve(AMD64)
    stored = store.blobs.path(Digest.of(first.config))
    stored.write_bytes(b"{}")  # not what its name says
    assert open_base("docker-daemon:made:1", store).resolve(AMD64) == first
