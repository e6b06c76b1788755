"""Small images and hostile tars, made in memory."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable

from composer.bases.base import BaseImage
from composer.layers.layer import Layer
from composer.oci.canonical import compact
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.manifest import write_manifest
from composer.oci.mediatype import OCI, Family
from composer.oci.platform import Platform
from composer.plan.values import RuntimeLayers
from composer.store.store import Store

AMD64 = Platform("linux", "amd64")


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", data: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    """One entry of a tar."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, len(data), 0o755
    return info, data


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar of these entries."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _claims(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo("big")
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def _sparse() -> bytes:
    """A PAX 1.0 sparse file that says it is 10 GB."""
    info = tarfile.TarInfo("big")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(10 << 30)}
    info.size = 512
    return info.tobuf(tarfile.PAX_FORMAT) + b"1\n0\n0\n".ljust(512, b"\0") + bytes(1024)


_LINK = tarfile.SYMTYPE
HOSTILE: dict[str, Callable[[], bytes]] = {
    "absolute-name": lambda: tar(member("/etc/passwd")),
    "dot-dot": lambda: tar(member("a/../../b")),
    "hard-link-out": lambda: tar(member("a", tarfile.LNKTYPE, "../../etc/passwd")),
    "hard-link-absolute": lambda: tar(member("a", tarfile.LNKTYPE, "/etc/passwd")),
    "written-through-climbing-link": lambda: tar(member("a", _LINK, "../.."), member("a/b")),
    "written-through-absolute-link": lambda: tar(member("a", _LINK, "/etc"), member("a/b")),
    "block-device": lambda: tar(member("dev/sda", tarfile.BLKTYPE)),
    "device-elsewhere": lambda: tar(_device("x/mem")),
    "size-beyond-archive": lambda: _claims(10 << 30),
    "sparse-10-gb": _sparse,
    "pax-bomb": lambda: _claims(1 << 30, tarfile.XHDTYPE),
    "truncated-tar": lambda: tar(member("a", data=b"x" * 5000))[:2000],
    "truncated-gzip": lambda: gzip.compress(tar(member("a", data=b"x" * 5000)))[:-20],
    "not-a-tar": lambda: b"hello\n" * 1000,
    "empty": lambda: b"",
}


def _device(name: str) -> tuple[tarfile.TarInfo, bytes]:
    info, data = member(name, tarfile.CHRTYPE)
    info.devmajor, info.devminor = 1, 1
    return info, data


def runtime(store: Store, agent: str = "one", lock: str = "lock") -> RuntimeLayers:
    """Two tiny runtime layers in the store."""
    return RuntimeLayers(
        Digest.of(lock.encode()), Digest.of(agent.encode()), "/.oc", AMD64,
        (stored(store, "libc", "libc"),), stored(store, agent, "agent"),
    )  # fmt: skip


def stored(store: Store, content: str, role: str) -> Layer:
    """A layer with one file below the prefix."""
    raw = tar(member(".oc", tarfile.DIRTYPE), member(f".oc/{role}", data=content.encode()))
    packed = gzip.compress(raw, mtime=0)
    return Layer(Descriptor(OCI.layer_type("gzip"), store.blobs.put(packed), len(packed)), Digest.of(raw), role, (), 0)


def image(config: dict[str, object], *layers: bytes, family: Family = OCI, **top: object) -> BaseImage:
    """A base of these tars, uncompressed, with this ``config`` object and other top-level fields."""
    rows = tuple(Descriptor(family.layer_type("none"), Digest.of(raw), len(raw)) for raw in layers)
    diff_ids = tuple(row.digest for row in rows)
    document = {
        "os": "linux", "architecture": "amd64", "config": config,
        "rootfs": {"type": "layers", "diff_ids": list(diff_ids)}, **top,
    }  # fmt: skip
    data = compact(document)
    manifest = write_manifest(family, data, rows)
    return BaseImage("test", AMD64, family, Digest.of(manifest), manifest, data, rows, diff_ids)
