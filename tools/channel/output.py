"""The channel's directory: its record of inputs, whether it is complete, and its replacement in one step."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from composer.errors import StoreError
from tools.channel.package import Archive
from tools.channel.repodata import write_channel

_RECORD = "channel.json"


@dataclass(frozen=True)
class Record:
    """What a channel was made of: digests of the request and of all inputs, and the size in bytes of each package."""

    request: str
    inputs: str
    files: dict[str, int]


def read_record(directory: Path) -> Record | None:
    """The record of a complete channel, None where there is nothing; raises StoreError for another directory."""
    try:
        record = Record(**json.loads((directory / _RECORD).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise StoreError(str(directory), "exists and is no channel of this tool", "give another --out") from None
        return None
    sizes = ((directory / name, size) for name, size in record.files.items())
    indexes = (directory / subdir / "repodata.json" for subdir in {name.split("/")[0] for name in record.files})
    complete = all(path.is_file() and path.stat().st_size == size for path, size in sizes)
    return record if complete and all(path.is_file() for path in indexes) else None


def replace_channel(
    directory: Path, subdirs: Iterable[str], archives: list[Archive], digests: tuple[str, str]
) -> Record:
    """Write a whole channel beside ``directory`` and rename it there; ``digests`` are of the request and the inputs."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    sizes = {f"{item.subdir}/{item.filename}": len(item.data) for item in archives}
    record = Record(*digests, dict(sorted(sizes.items())))
    fresh, old = (directory.with_name(f".{directory.name}.{suffix}") for suffix in ("new", "old"))
    with _locked(directory.parent):
        try:
            _remove(fresh, old)  # of a build that was killed
            write_channel(fresh, subdirs, archives)
            (fresh / _RECORD).write_text(json.dumps(asdict(record), indent=1) + "\n")
            if directory.exists():
                directory.rename(old)
            fresh.rename(directory)
        finally:
            _remove(fresh, old)
    return record


def _remove(*directories: Path) -> None:
    for directory in directories:
        if directory.exists():
            shutil.rmtree(directory)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One writer at a time; the kernel drops the lock when the process ends (flock(2) takes directories too)."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
