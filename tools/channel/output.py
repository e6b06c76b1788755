"""The channel's directory: its record of inputs, whether it is complete, and its replacement in one step."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable
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
    temporary = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        fresh, old = temporary / "new", temporary / "old"
        write_channel(fresh, subdirs, archives)
        (fresh / _RECORD).write_text(json.dumps(asdict(record), indent=1) + "\n")
        if directory.exists():
            directory.rename(old)
        fresh.rename(directory)
    finally:
        shutil.rmtree(temporary)
    return record
