"""``environment.yml``: the packages that somebody asked for."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml

from composer.errors import SpecError, UnsupportedError

DEFAULT_CHANNELS = ("conda-forge",)
VIRTUAL_PACKAGES_VERSION = 1
"""Changes when composer.env.solve offers other virtual packages, so that old locks are seen as stale."""

_KNOWN = {"name", "channels", "dependencies", "platforms"}
_NAME = re.compile(r"(?:[^\s]+::)?([A-Za-z0-9_][A-Za-z0-9_.-]*)")


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """Match specs, channels (names, URLs or folders) and subdirs. ``extra`` holds keys that composer does not know."""

    name: str
    dependencies: tuple[str, ...]
    channels: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ("linux-64",)
    source: str = "environment.yml"
    extra: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file; raises `SpecError`."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(str(path), f"cannot be read ({error})", "name an environment.yml") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, source: str = "environment.yml") -> Self:
        """Check the YAML in ``text``; raises `SpecError`, and `UnsupportedError` for a ``pip:`` section."""
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}" if mark else "unreadable"
            raise SpecError(source, f"is not YAML ({where})", "correct the file") from error
        if not isinstance(document, dict):
            raise SpecError(source, "is not a mapping", "begin it with `name:` and `dependencies:`")
        name = document.get("name", Path(source).parent.name or "env")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
            raise SpecError(source, f"has the bad name {name!r}", "use letters, digits, `.`, `_` and `-`")
        return cls(
            name=name,
            dependencies=tuple(_dependency(row, source) for row in _rows(document, "dependencies", source)),
            channels=tuple(_text(row, "channels", source) for row in _rows(document, "channels", source, [])),
            platforms=tuple(
                _text(row, "platforms", source) for row in _rows(document, "platforms", source, ["linux-64"])
            ),
            source=source,
            extra={str(key): value for key, value in document.items() if key not in _KNOWN},
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The package names asked for, without version or channel."""
        return tuple(m[1].lower() if (m := _NAME.match(row)) else row for row in self.dependencies)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One line for each key that has no effect."""
        return tuple(f"{self.source}: the key {key!r} has no effect" for key in sorted(self.extra))

    def content_hash(self, subdir: str) -> str:
        """The hexadecimal sha256 of what decides a solve for ``subdir``: match specs and channels, not comments.

        Channels given on the command line or by COMPOSER_CHANNEL are not in it: they say where, not what.
        """
        content = {
            "channels": self.channels,
            "dependencies": sorted(self.dependencies),
            "subdir": subdir,
            "virtual_packages": VIRTUAL_PACKAGES_VERSION,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def merge(specs: Sequence[EnvironmentSpec]) -> EnvironmentSpec:
    """One spec that asks for everything that ``specs`` ask for; raises `SpecError` when no platform is common."""
    if len(specs) == 1:
        return specs[0]
    platforms = tuple(p for p in specs[0].platforms if all(p in other.platforms for other in specs))
    sources = " + ".join(spec.source for spec in specs)
    if not platforms:
        raise SpecError(sources, "have no platform in common", "add one to both")
    extra: dict[str, object] = {}
    for spec in specs:
        extra.update(spec.extra)
    return EnvironmentSpec(
        name="-".join(spec.name for spec in specs),
        dependencies=tuple(dict.fromkeys(row for spec in specs for row in spec.dependencies)),
        channels=tuple(dict.fromkeys(row for spec in specs for row in spec.channels)),
        platforms=platforms,
        source=sources,
        extra=extra,
    )


def _rows(document: Mapping[Any, Any], key: str, source: str, default: list[Any] | None = None) -> list[Any]:
    rows = document.get(key)
    if rows is None and default is not None:
        return default
    if not isinstance(rows, list) or not rows:
        raise SpecError(source, f"has no list of {key}", f"write `{key}:` and one `- item` a line")
    return rows


def _text(row: object, key: str, source: str) -> str:
    if not isinstance(row, str) or not row.strip():
        raise SpecError(source, f"has {row!r} under {key}", "write a text there")
    return " ".join(row.split())


def _dependency(row: object, source: str) -> str:
    if isinstance(row, dict) and set(row) == {"pip"}:
        raise UnsupportedError(source, "has a `pip:` section", "take these packages from a conda channel")
    text = _text(row, "dependencies", source)
    if not _NAME.match(text):
        raise SpecError(source, f"has the bad dependency {text!r}", "write it like `python 3.11.*`")
    return text
