"""Linking package archives into a stage, for another prefix than the stage's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from composer.errors import ArchiveError, ComposerError, DiskFullError, StoreError


@dataclass(frozen=True, slots=True)
class LinkedPackage:
    """A package as its ``conda-meta`` record tells; ``files`` are relative to the prefix."""

    name: str
    version: str
    build: str
    license: str
    files: tuple[str, ...]


def link(archives: Sequence[Path], root: Path, cache: Path, prefix: str) -> tuple[LinkedPackage, ...]:
    """Install ``archives`` into the empty folder ``root`` as if it were at ``prefix``.

    Placeholders, shebangs and entry points name ``prefix``; no link script is run. ``cache`` takes the extracted
    packages, of which the installed files are *hard links*: use a folder that goes away with the stage, and replace
    files, never write into them. Raises `ArchiveError`, `StoreError`. Synchronous: call it from a thread where an
    event loop runs.
    """
    from rattler.exceptions import ExtractError, InstallerError, IoError, LinkError, TransactionError

    try:
        asyncio.run(_install(archives, root, cache, prefix))
    except (ExtractError, InstallerError, IoError, LinkError, TransactionError) as error:
        raise _mapped(error, root) from error
    return tuple(_record(path) for path in sorted((root / "conda-meta").glob("*.json")))


async def _install(archives: Sequence[Path], root: Path, cache: Path, prefix: str) -> None:
    import rattler

    records = [await _read(path) for path in archives]
    await rattler.install(
        records,
        root,
        cache_dir=cache,
        show_progress=False,
        execute_link_scripts=False,
        alternative_target_prefix=prefix,
    )


async def _read(path: Path):  # type: ignore[no-untyped-def]  # rattler is not imported at the top
    import rattler
    from rattler.exceptions import ExtractError, IoError

    try:
        return await rattler.RepoDataRecord.from_package_archive(path)
    except (ExtractError, IoError, OSError, ValueError) as error:
        cause = str(error).splitlines()[-1]
        raise ArchiveError(str(path), f"is not a conda package ({cause})", "delete it and build again") from error


def _record(path: Path) -> LinkedPackage:
    record = json.loads(path.read_bytes())
    return LinkedPackage(
        name=record["name"],
        version=record["version"],
        build=record["build"],
        license=record.get("license") or "",
        files=tuple(record["files"]),
    )


def _mapped(error: Exception, root: Path) -> ComposerError:
    text = " ".join(str(error).replace("Caused by:", ":").split())
    if "No space left" in text or "os error 28" in text or "quota" in text:
        return DiskFullError(str(root), "no space is left on the device", "free some and run it again")
    return StoreError(
        str(root), f"the packages cannot be linked there ({text[-300:]})", "check the disk, then build again"
    )
