"""One small image, or its root file system, as every source of a base."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import zstandard

from composer.bases.base import BaseImage
from composer.oci.descriptor import Descriptor
from composer.oci.mediatype import DOCKER
from composer.store.layout import Layout
from tests.kit.images import image, tar

Entry = tuple[tarfile.TarInfo, bytes]


def _image(*layers: bytes) -> BaseImage:
    return image({"Env": ["A=b"]}, *layers, history=[{"created_by": "x"}] * len(layers))


def oci(folder: Path, layers: tuple[bytes, ...]) -> str:
    """``oci:`` with one image."""
    made, layout = _image(*layers), Layout(folder / "layout")
    layout.create()
    for data in (*layers, made.config, made.manifest):
        layout.blobs.put(data)
    layout.set_reference("made:1", Descriptor(made.family.manifest, made.manifest_digest, len(made.manifest)))
    return f"oci:{layout.root}"


def oci_archive(folder: Path, layers: tuple[bytes, ...]) -> str:
    """``oci-archive:`` of the same."""
    oci(folder, layers)
    subprocess.run(["tar", "-C", folder / "layout", "-cf", folder / "oci.tar", "."], check=True)
    return f"oci-archive:{folder / 'oci.tar'}"


def docker_archive(folder: Path, layers: tuple[bytes, ...], pack: Callable[[bytes], bytes] = bytes) -> str:
    """``docker-archive:`` as an engine saves it."""
    config = image({"Env": ["A=b"]}, *layers, family=DOCKER).config
    tree = folder / "saved"
    tree.mkdir()
    name = hashlib.sha256(config).hexdigest() + ".json"
    (tree / name).write_bytes(config)
    names = [f"{number}.tar" for number in range(len(layers))]
    for layer, file in zip(layers, names, strict=True):
        (tree / file).write_bytes(pack(layer))
    (tree / "manifest.json").write_text(json.dumps([{"Config": name, "RepoTags": ["made:1"], "Layers": names}]))
    subprocess.run(["tar", "-C", tree, "-cf", folder / "docker.tar", "."], check=True)
    return f"docker-archive:{folder / 'docker.tar'}"


def docker_archive_gzip(folder: Path, layers: tuple[bytes, ...]) -> str:
    """The same with compressed layers."""
    return docker_archive(folder, layers, gzip.compress)


def rootfs(folder: Path, layers: tuple[bytes, ...], pack: Callable[[bytes], bytes] = bytes) -> str:
    """``rootfs:`` of the first layer."""
    path = folder / "root.tar"
    path.write_bytes(pack(layers[0]))
    return f"rootfs:{path}"


SOURCES: dict[str, Callable[[Path, tuple[bytes, ...]], str]] = {
    "oci": oci,
    "oci-archive": oci_archive,
    "docker-archive": docker_archive,
    "docker-archive-gzip": docker_archive_gzip,
    "rootfs": rootfs,
    "rootfs-gzip": lambda folder, layers: rootfs(folder, layers, gzip.compress),
    "rootfs-zstd": lambda folder, layers: rootfs(folder, layers, zstandard.ZstdCompressor().compress),
    "rootfs-xz": lambda folder, layers: rootfs(folder, layers, lzma.compress),
}


def of_entries(*entries: Entry) -> tuple[bytes, ...]:
    """Layers of one tar with these entries."""
    return (tar(*entries),)
