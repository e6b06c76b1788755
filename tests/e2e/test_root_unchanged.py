"""The root file system of the result, less the prefix, is the base's, entry by entry."""

from __future__ import annotations

import stat
import tarfile
from pathlib import Path

import pytest

from composer.bases.open import open_base
from composer.build import BuildRequest, build
from composer.oci.platform import Platform
from composer.store.store import Store
from tests.kit.bases import MATRIX, KnownBase


def entries(layers: list[Path]) -> dict[str, tuple[object, ...]]:
    """Each path of the layers with its type, mode, owner, mtime, content and xattrs; later layers win."""
    found: dict[str, tuple[object, ...]] = {}
    for layer in layers:
        with tarfile.open(layer) as tar:
            for member in tar:
                name = member.name.strip("/").removeprefix("./")
                file = tar.extractfile(member) if member.isreg() else None
                content = file.read() if file else b""
                xattrs = tuple(sorted((k, v) for k, v in member.pax_headers.items() if "xattr" in k))
                kept = (member.type, member.mode, member.uid, member.gid, member.mtime, member.linkname)
                found[name] = (*kept, content, xattrs)
    return found


@pytest.mark.parametrize("base", MATRIX, ids=lambda base: base.name)
def test_nothing_of_the_base_changes(base: KnownBase, core_store: Store, tmp_path: Path) -> None:
    reference = base.reference()
    result = build(BuildRequest(reference, sink=f"oci:{tmp_path / 'out'}"), core_store)
    source = open_base(reference, core_store)
    image = source.resolve(Platform.host())
    originals = []
    for number, layer in enumerate(image.layers):
        with source.open_layer(layer) as stream:
            path = tmp_path / f"base-{number}"
            path.write_bytes(stream.read())
            originals.append(path)
    blobs = tmp_path / "out" / "blobs" / "sha256"
    composed = entries([blobs / blob.descriptor.digest.hex for blob in result.plan.layers])
    less_prefix = {name: entry for name, entry in composed.items() if name.split("/")[0] != ".oc"}
    assert less_prefix == entries(originals)


def test_unpacked_root_is_the_bases(core_store: Store) -> None:
    """The same on disk, as the embedded engine unpacks it: the runtime's layers hold nothing but the prefix."""
    result = build(BuildRequest("scratch"), core_store)
    for layer in result.runtime.all:
        with core_store.blobs.open(layer.descriptor.digest) as stream, tarfile.open(fileobj=stream) as tar:
            for member in tar:
                assert member.name == ".oc" or member.name.startswith(".oc/"), member.name
                assert "/.wh." not in member.name
                assert (member.uid, member.gid, member.mtime, member.uname, member.gname) == (0, 0, 0, "", "")
                assert not member.mode & (stat.S_ISUID | stat.S_ISGID)
