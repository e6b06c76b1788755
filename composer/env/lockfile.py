"""``conda-lock.yml``, format 1 (conda-lock's ``conda_lock/lockfile/v1/models.py``): read, and written to the byte."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from composer.env.lock import Lock, LockedPackage
from composer.errors import SpecError, UnsupportedError

_AGAIN = "run `composer lock` again"
_GENERATOR = "composer/1"


def load(path: Path) -> Lock:
    """Read a lock file; raises `SpecError` and `UnsupportedError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(str(path), f"cannot be read ({error})", _AGAIN) from error
    return parse(text, str(path))


def parse(text: str, source: str) -> Lock:
    """The lock in ``text``; ``source`` names it in errors."""
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise SpecError(source, f"is not YAML ({_place(error)})", _AGAIN) from error
    if not isinstance(document, dict) or "package" not in document:
        raise SpecError(source, "is not a conda-lock.yml", _AGAIN)
    if document.get("version") != 1:
        raise UnsupportedError(source, f"has format {document.get('version')!r}, not 1", _AGAIN)
    rows, metadata = document["package"], document.get("metadata")
    if not isinstance(rows, list) or not isinstance(metadata, dict):
        raise SpecError(source, "has no list of packages or no metadata", _AGAIN)
    custom = metadata.get("custom_metadata")
    return Lock(
        packages=tuple(_package(row, source) for row in rows),
        content_hash={
            str(k): str(v) for k, v in _mapping(metadata.get("content_hash"), "content_hash", source).items()
        },
        channels=tuple(str(c["url"]) for c in metadata.get("channels") or [] if isinstance(c, dict) and "url" in c),
        sources=tuple(str(name) for name in metadata.get("sources") or ()),
        source=source,
        own=isinstance(custom, dict) and custom.get("generator") == _GENERATOR,
    )


def render(lock: Lock) -> str:
    """The file's text: packages by name and target, keys in conda-lock's order, no date."""
    document = {
        "version": 1,
        "metadata": {
            "content_hash": dict(sorted(lock.content_hash.items())),
            "channels": [{"url": url, "used_env_vars": []} for url in lock.channels],
            "platforms": list(lock.targets),
            "sources": list(lock.sources),
            "custom_metadata": {"generator": _GENERATOR},
        },
        "package": [_row(package) for package in sorted(lock.packages, key=lambda p: (p.name, p.target))],
    }
    return yaml.safe_dump(document, sort_keys=False, width=10_000, allow_unicode=True)


def _row(package: LockedPackage) -> dict[str, Any]:
    hashes = {"md5": package.md5} if package.md5 else {}
    return {
        "name": package.name,
        "version": package.version,
        "manager": "conda",
        "platform": package.target,
        "dependencies": dict(sorted(package.dependencies.items())),
        "url": package.url,
        "hash": {**hashes, "sha256": package.sha256},
        "category": "main",
        "optional": False,
    }


def _package(row: object, source: str) -> LockedPackage:
    fields = _mapping(row, "package", source)
    name = str(fields.get("name", "?"))
    if fields.get("manager") != "conda":
        raise UnsupportedError(
            source, f"locks {name} with {fields.get('manager')}", "take it from a conda channel instead"
        )
    hashes = _mapping(fields.get("hash"), f"hash of {name}", source)
    sha256, url = str(hashes.get("sha256", "")), str(fields.get("url", ""))
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise SpecError(source, f"has no sha256 for {name}", _AGAIN)
    if not re.fullmatch(r"(https?|file)://.*/[A-Za-z0-9_-]+/[A-Za-z0-9_.!+~-]+-[^-/]+-[^-/]+\.(conda|tar\.bz2)", url):
        raise SpecError(source, f"has no usable URL for {name}", _AGAIN)
    return LockedPackage(
        target=str(fields.get("platform", "")),
        name=name,
        version=str(fields.get("version", "")),
        url=url,
        sha256=sha256,
        md5=str(hashes.get("md5") or ""),
        dependencies={str(k): str(v) for k, v in (fields.get("dependencies") or {}).items()},
    )


def _mapping(value: object, name: str, source: str) -> Mapping[Any, Any]:
    if not isinstance(value, dict):
        raise SpecError(source, f"has a bad {name}", _AGAIN)
    return value


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}" if mark else "unreadable"
