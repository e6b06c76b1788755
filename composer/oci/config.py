"""Image configs (image-spec 1.1, config.md): what planning and the bases read of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from composer.errors import ArchiveError, UsageError
from composer.oci.canonical import load
from composer.oci.digest import Digest
from composer.oci.platform import Platform


@dataclass(frozen=True, slots=True)
class Config:
    """A config as it was read: its platform and diff_ids checked, the rest as it is."""

    document: dict[str, Any]
    platform: Platform
    diff_ids: tuple[Digest, ...]

    @classmethod
    def parse(cls, data: bytes, source: str) -> Self:
        """Check the bytes; raises `ArchiveError`."""
        document = parse_config(data, source)
        return cls(document, platform_of_config(document, source), diff_ids_of(document, source))


def parse_config(data: bytes, source: str) -> dict[str, Any]:
    """The config's document; raises `ArchiveError` when what every image needs is not there."""
    document = load(data, source)
    rootfs = document.get("rootfs")
    if not isinstance(rootfs, dict) or not isinstance(rootfs.get("diff_ids"), list | None):
        raise ArchiveError(source, "the config has no rootfs", "get the image again")
    if not isinstance(document.get("config"), dict | None) or not isinstance(document.get("history"), list | None):
        raise ArchiveError(source, "the config is malformed", "get the image again")
    return document


def platform_of_config(document: dict[str, Any], source: str) -> Platform:
    """The platform that a config declares; raises `ArchiveError` when it declares none."""
    # Old engines wrote no os; there was only one.
    parts = [document.get("os") or "linux", document.get("architecture"), document.get("variant")]
    if not parts[1]:
        raise ArchiveError(source, "the config names no architecture", "make the image again with a platform")
    try:
        return Platform.parse("/".join(str(part) for part in parts if part))
    except UsageError as error:
        raise ArchiveError(source, f"the config has the platform {error.input_name!r}", "correct it") from error


def diff_ids_of(document: dict[str, Any], source: str) -> tuple[Digest, ...]:
    """The digests of the layers' tars; raises `ArchiveError`."""
    rows = document["rootfs"].get("diff_ids") or []
    try:
        return tuple(Digest.parse(row) for row in rows)
    except (UsageError, TypeError) as error:
        raise ArchiveError(source, "the config has a malformed diff_id", "get the image again") from error
