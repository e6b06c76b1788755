"""One pass over a layer's tar: its diff_id, what stands at a prefix, its CPU; hostile ones are refused."""

from __future__ import annotations

import json
import posixpath
import tarfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, cast

from composer.bases.stream import HashingReader, Packing, unpacked_stream
from composer.errors import ArchiveError
from composer.oci.digest import Digest
from composer.store.replace import replace_file
from composer.store.store import Store

_LONGEST_HEADER = 1 << 20
_LARGEST_SPARSE = 4 << 30
_MOST_ENTRIES = 5_000_000
_ELF_MACHINES = {62: "amd64", 183: "arm64", 3: "386", 40: "arm", 243: "riscv64", 21: "ppc64le", 22: "s390x"}
_FETCH = "use another copy of the image"


@dataclass(frozen=True, slots=True)
class Scan:
    """What a layer is.

    ``tops`` tells what each first path component is: ``file``, ``link``, ``directory`` or, when there is something
    in it, ``content``; ``machine`` is the architecture of the first program, empty when there is none.
    """

    diff_id: Digest
    size: int
    entries: int
    tops: dict[str, str]
    machine: str


class _Member(tarfile.TarInfo):
    """A member whose extended headers are bounded: their declared size would be read into memory at once."""

    def _proc_pax(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        self._bounded()
        return super()._proc_pax(archive)  # type: ignore[misc, no-any-return]

    def _proc_gnulong(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        self._bounded()
        return super()._proc_gnulong(archive)  # type: ignore[misc, no-any-return]

    def _bounded(self) -> None:
        if self.size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"an extended header of {self.size} bytes")


def scan(stream: BinaryIO, packing: Packing, source: str) -> Scan:
    """Read a layer to its end; raises `ArchiveError` for a truncated, corrupt or hostile one, naming ``source``."""
    with unpacked_stream(stream, packing, source) as unpacked:
        reader = HashingReader(unpacked)
        tops: dict[str, str] = {}
        machine, count = "", 0
        absolute: set[str] = set()
        try:
            with tarfile.open(fileobj=cast(BinaryIO, reader), mode="r|", tarinfo=_Member, errorlevel=2) as tar:
                for member in tar:
                    count += 1
                    name = _checked(member, absolute, source, count)
                    _note_top(tops, name, member)
                    if not machine and member.isreg() and member.mode & 0o111:
                        machine = _machine(tar.extractfile(member))
        except tarfile.TarError as error:
            raise ArchiveError(source, f"is not a readable tar ({error})", _FETCH) from error
        reader.drain()
    if reader.size % tarfile.BLOCKSIZE or (count == 0 and reader.size < 2 * tarfile.BLOCKSIZE):
        raise ArchiveError(source, "is truncated or not a tar", _FETCH)
    return Scan(Digest("sha256:" + reader.hexdigest), reader.size, count, tops, machine)


def scan_file(stream: BinaryIO, packing: Packing, source: str) -> tuple[Scan, Digest]:
    """As `scan`, and the digest of the stored bytes."""
    raw = HashingReader(stream)
    found = scan(cast(BinaryIO, raw), packing, source)
    raw.drain()
    return found, Digest("sha256:" + raw.hexdigest)


def scan_once(store: Store, digest: Digest, open_blob: Callable[[], BinaryIO], packing: Packing, source: str) -> Scan:
    """As `scan`, remembered in the store by the blob's digest, which is checked."""
    found = _remembered(_memo(store, digest))
    if found is None:
        with open_blob() as stream:
            found, actual = scan_file(stream, packing, source)
        if actual != digest:
            raise ArchiveError(source, f"has a layer whose bytes are not those of {digest}", _FETCH)
        remember(store, digest, found)
    return found


def remember(store: Store, digest: Digest, found: Scan) -> None:
    """Keep what a scan of the blob ``digest`` has found."""
    path = _memo(store, digest)
    path.parent.mkdir(exist_ok=True)
    replace_file(path, json.dumps(asdict(found)).encode())


def _memo(store: Store, digest: Digest) -> Path:
    return store.root / "scans" / f"{digest.hex}.json"


def _remembered(path: Path) -> Scan | None:
    try:
        row = json.loads(path.read_bytes())
        return Scan(Digest.parse(row["diff_id"]), row["size"], row["entries"], row["tops"], row["machine"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _checked(member: tarfile.TarInfo, absolute: set[str], source: str, count: int) -> str:
    """The member's normal name; raises `ArchiveError` for one that could write outside of the root."""

    def refuse(cause: str) -> ArchiveError:
        return ArchiveError(source, f"{cause}: {member.name[:120]!r}", "use an image from a source that you trust")

    if count > _MOST_ENTRIES:
        raise refuse(f"has more than {_MOST_ENTRIES} entries")
    if member.name.startswith("/"):
        raise refuse("has an absolute name")
    if ".." in member.name.split("/"):
        raise refuse("has a name with `..`")
    name = posixpath.normpath(member.name)
    parents = name.split("/")[:-1]
    if absolute and any("/".join(parents[:depth]) in absolute for depth in range(1, len(parents) + 1)):
        raise refuse("writes through an absolute link")
    if member.islnk() and (member.linkname.startswith("/") or ".." in member.linkname.split("/")):
        raise refuse(f"has a hard link out of the root, to {member.linkname[:120]!r}")
    if member.issym() and _climbs(name, member.linkname):
        raise refuse(f"has a link that leads out of the root, to {member.linkname[:120]!r}")
    if member.issym() and member.linkname.startswith("/"):
        absolute.add(name)
    else:
        absolute.discard(name)
    if member.isblk() or (member.ischr() and not _whiteout(member) and parents[:1] != ["dev"]):
        raise refuse("has a device")
    if member.issparse() and member.size > _LARGEST_SPARSE:
        raise refuse(f"has a sparse file of {member.size} bytes")
    return name


def _whiteout(member: tarfile.TarInfo) -> bool:
    return (member.devmajor, member.devminor) == (0, 0)


def _climbs(name: str, target: str) -> bool:
    """Whether a relative link leads above the root, by its words alone."""
    if target.startswith("/"):
        return False
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), target)).startswith("..")


def _note_top(tops: dict[str, str], name: str, member: tarfile.TarInfo) -> None:
    parts = name.split("/")
    if parts[0] in (".", ""):
        return
    if len(parts) > 1 or member.isdir():
        inside = len(parts) > 1 and tops.get(parts[0]) in ("directory", "content")
        tops[parts[0]] = "content" if len(parts) > 1 or inside else tops.get(parts[0], "directory")
    else:
        tops[parts[0]] = "link" if member.issym() else "file"


def _machine(file: object) -> str:
    head = file.read(20) if file else b""  # type: ignore[attr-defined]
    if head[:4] != b"\x7fELF" or len(head) < 20:
        return ""
    order = "little" if head[5] == 1 else "big"
    return _ELF_MACHINES.get(int.from_bytes(head[18:20], order), "unknown")  # type: ignore[arg-type]
