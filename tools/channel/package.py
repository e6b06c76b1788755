"""A conda package: its metadata and its archive, either ``.conda`` (format 2) or ``.tar.bz2`` (format 1).

Written after conda-build's and CEP 26-34's description of ``info/``: index.json, paths.json, has_prefix, link.json.
The bytes depend on nothing but the package's content.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tools.channel.tree import Entry, Tree

Format = Literal["conda", "bz2"]
LONG_PLACEHOLDER = "/opt/placeholder" + "_placehold" * 23  # 246 bytes: as long as conda-build's, which takes any prefix
SHORT_PLACEHOLDER = "/_pl"  # for binaries that were compiled for "/usr": takes prefixes of up to 4 bytes
_TIME = 1_700_000_000  # seconds; every member and record has this one
_LEVEL = 12


@dataclass(frozen=True)
class Placeholder:
    """A text that an installer replaces by the prefix; ``mode`` as in paths.json: binary files keep their length."""

    text: str
    mode: Literal["text", "binary"]


@dataclass(frozen=True)
class Package:
    """All that goes into one package; ``build`` gets the digest of the content and ``_0`` appended."""

    name: str
    version: str
    build: str
    subdir: str
    license: str
    tree: Tree
    depends: tuple[str, ...] = ()
    noarch: Literal["generic", "python"] | None = None
    placeholders: Mapping[str, Placeholder] = field(default_factory=dict)
    entry_points: tuple[str, ...] = ()
    license_texts: Mapping[str, bytes] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Archive:
    """A finished package file and its record of repodata.json."""

    subdir: str
    filename: str
    data: bytes
    record: dict[str, object]


def archive(package: Package, fmt: Format) -> Archive:
    """Pack ``package``; the same package gives the same bytes."""
    paths = _paths(package)
    build = f"{package.build}{_content_digest(package, paths)[:7]}_0"
    index = _index(package, build)
    stem = f"{package.name}-{package.version}-{build}"
    info = _info(package, paths, index)
    files = sorted(package.tree.items())
    if fmt == "conda":
        filename, data = f"{stem}.conda", _zip(stem, _tar(info), _tar(files))
    else:
        filename, data = f"{stem}.tar.bz2", bz2.compress(_tar([*info, *files]))
    sums = {"md5": hashlib.md5(data, usedforsecurity=False).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}
    return Archive(package.subdir, filename, data, {**index, **sums, "size": len(data)})


def _paths(package: Package) -> list[dict[str, object]]:
    paths: list[dict[str, object]] = []
    for path, entry in sorted(package.tree.items()):
        item: dict[str, object] = {"_path": path, "path_type": "softlink" if entry.target is not None else "hardlink"}
        if placeholder := package.placeholders.get(path):
            item |= {"file_mode": placeholder.mode, "prefix_placeholder": placeholder.text}
        data = _followed(package.tree, path)
        item |= {"sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
        paths.append(item)
    return paths


def _followed(tree: Tree, path: str) -> bytes:
    """What a reader of ``path`` gets: conda-build records the digest of a link's destination, empty for a directory."""
    from tools.channel.tree import resolve

    for _ in range(40):  # the kernel's limit on links (path_resolution(7))
        entry = tree.get(path)
        if entry is None:
            return b""
        if entry.target is None:
            return entry.data
        path = resolve(path, entry.target)
    return b""


def _content_digest(package: Package, paths: list[dict[str, object]]) -> str:
    links = {path: entry.target for path, entry in package.tree.items() if entry.target is not None}
    modes = sorted(path for path, entry in package.tree.items() if entry.executable)
    facts = [paths, links, modes, sorted(package.depends), package.entry_points, package.license, package.noarch]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _index(package: Package, build: str) -> dict[str, object]:
    machine = {"arch": None, "platform": None} if package.noarch else {"arch": "x86_64", "platform": "linux"}
    index: dict[str, object] = {
        **machine,
        "build": build,
        "build_number": 0,
        "depends": sorted(package.depends),
        "license": package.license,
        "name": package.name,
        "subdir": package.subdir,
        "timestamp": _TIME * 1000,
        "version": package.version,
    }
    return {**index, "noarch": package.noarch} if package.noarch else index


def _info(package: Package, paths: list[dict[str, object]], index: dict[str, object]) -> list[tuple[str, Entry]]:
    about = {"license": package.license, "extra": {"sources": list(package.sources)}}
    info = {
        "about.json": _json(about),
        "files": "".join(f"{path}\n" for path in sorted(package.tree)).encode(),
        "index.json": _json(index),
        "paths.json": _json({"paths": paths, "paths_version": 1}),
    }
    if package.placeholders:
        lines = [f'"{holder.text}" {holder.mode} "{path}"\n' for path, holder in sorted(package.placeholders.items())]
        info["has_prefix"] = "".join(lines).encode()
    if package.noarch == "python":
        link = {"noarch": {"type": "python", "entry_points": list(package.entry_points)}, "package_metadata_version": 1}
        info["link.json"] = _json(link)
    info |= {f"licenses/{name}": text for name, text in package.license_texts.items()}
    return [(f"info/{name}", Entry(data)) for name, data in sorted(info.items())]


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode()


def _tar(files: list[tuple[str, Entry]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, entry in files:
            member = tarfile.TarInfo(path)
            member.mtime, member.mode = _TIME, 0o755 if entry.executable else 0o644
            if entry.target is not None:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.target, 0o777
            member.size = len(entry.data)
            tar.addfile(member, io.BytesIO(entry.data))
    return buffer.getvalue()


def _zip(stem: str, info: bytes, files: bytes) -> bytes:
    import zstandard

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive_:
        for name, data in (
            ("metadata.json", b'{"conda_pkg_format_version": 2}'),
            (f"pkg-{stem}.tar.zst", zstandard.ZstdCompressor(level=_LEVEL).compress(files)),
            (f"info-{stem}.tar.zst", zstandard.ZstdCompressor(level=_LEVEL).compress(info)),
        ):
            member = zipfile.ZipInfo(name)  # a fixed time: 1980
            member.external_attr = 0o644 << 16
            archive_.writestr(member, data)
    return buffer.getvalue()
