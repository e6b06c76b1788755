"""Bad bases through the whole chain: one typed line each, and nothing left in the store."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from composer.build import BuildRequest, build
from composer.errors import ArchiveError, BaseNotFoundError, ComposerError, PlatformError, UnsupportedError
from composer.oci.descriptor import Descriptor
from composer.oci.mediatype import OCI
from composer.store.layout import Layout
from composer.store.store import Store
from tests.kit.images import AMD64, HOSTILE, image, member, tar

LAYER = tar(member("a", data=b"a"))


def refused(reference: str, folder: Path, error: type[ComposerError]) -> str:
    """Build, and return the one line that came of it."""
    store = Store.open(folder / "store")
    with pytest.raises(error) as caught:
        build(BuildRequest(reference, platform=AMD64), store)
    line = str(caught.value)
    assert "\n" not in line
    assert reference.partition(":")[2] in line
    assert caught.value.next_step
    assert store.layout.references() == {}
    assert list((store.root / "tmp").iterdir()) == []
    assert store.verify() == []
    return line


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_root_file_system(case: str, tmp_path: Path) -> None:
    path = tmp_path / "base.tar"
    path.write_bytes(HOSTILE[case]())
    refused(f"rootfs:{path}", tmp_path, ArchiveError)


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_layer_of_an_image(case: str, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "layout")
    made = image({}, HOSTILE[case]())
    _named(layout, made.manifest, OCI.manifest, made.config, HOSTILE[case]())
    refused(f"oci:{layout.root}", tmp_path, ArchiveError)


def _named(layout: Layout, top: bytes, media_type: str, *blobs: bytes) -> None:
    layout.create()
    for data in blobs:
        layout.blobs.put(data)
    layout.set_reference("made:1", Descriptor(media_type, layout.blobs.put(top), len(top)))


def _index(layout: Layout, inner: bytes, media_type: str, platform: str | None = None) -> bytes:
    row: dict[str, object] = {"mediaType": media_type, "digest": layout.blobs.put(inner), "size": len(inner)}
    if platform:
        row["platform"] = {"os": "linux", "architecture": platform}
    return json.dumps({"schemaVersion": 2, "mediaType": OCI.index, "manifests": [row]}).encode()


def _schema_1(layout: Layout) -> None:
    top = json.dumps({"schemaVersion": 1, "fsLayers": []}).encode()
    _named(layout, top, "application/vnd.docker.distribution.manifest.v1+json")


def _deep_index(layout: Layout) -> None:
    top = image({}, LAYER).manifest
    media_type = OCI.manifest
    for _ in range(8):
        top, media_type = _index(layout, top, media_type), OCI.index
    _named(layout, top, OCI.index)


def _other_platform(layout: Layout) -> None:
    _named(layout, _index(layout, image({}, LAYER).manifest, OCI.manifest, "s390x"), OCI.index)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (_schema_1, UnsupportedError, "schema 1"),
        (_deep_index, UnsupportedError, "indexes in indexes"),
        (_other_platform, PlatformError, "linux/s390x"),
    ],
    ids=["schema-1", "deep-index", "other-platform"],
)
def test_unusable_image(make: Callable[[Layout], None], error: type[ComposerError], says: str, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "layout")
    make(layout)
    assert says in refused(f"oci:{layout.root}", tmp_path, error)


def test_docker_archive_without_its_manifest(tmp_path: Path) -> None:
    path = tmp_path / "base.tar"
    path.write_bytes(LAYER)
    assert "manifest.json" in refused(f"docker-archive:{path}", tmp_path, ArchiveError)


def test_missing_base(tmp_path: Path) -> None:
    refused(f"rootfs:{tmp_path / 'nothing'}", tmp_path, BaseNotFoundError)


_FULL = """
mount -t tmpfs -o size=256k tmpfs "$1/full"
"$2" -m tests.integration.full_disk "$1" "$3"
status=$?
ls -A "$1/full"
exit $status
"""


@pytest.mark.root
@pytest.mark.parametrize("sink", ["oci", "oci-archive", "docker-archive", "store"])
def test_full_disk_leaves_nothing(sink: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", _FULL, "sh", str(tmp_path), sys.executable, sink],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 74, done.stderr
    assert done.stderr.count("\n") == 1
    if sink != "store":
        assert done.stdout == ""
