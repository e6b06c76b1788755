"""The index files of a channel: ``SUBDIR/repodata.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tools.channel.package import Archive


def write_channel(directory: Path, subdirs: Iterable[str], archives: Iterable[Archive]) -> None:
    """Write the package files and each subdir's repodata.json (version 1) under ``directory``."""
    found = list(archives)
    for subdir in subdirs:
        folder = directory / subdir
        folder.mkdir(parents=True)
        of_subdir = sorted((item for item in found if item.subdir == subdir), key=lambda item: item.filename)
        for item in of_subdir:
            (folder / item.filename).write_bytes(item.data)
        (folder / "repodata.json").write_bytes(repodata(subdir, of_subdir))


def repodata(subdir: str, archives: Iterable[Archive]) -> bytes:
    """The repodata.json of one subdir; ``.tar.bz2`` files stand under ``packages``, ``.conda`` under their own key."""
    document: dict[str, object] = {
        "info": {"subdir": subdir},
        "packages": {item.filename: item.record for item in archives if item.filename.endswith(".tar.bz2")},
        "packages.conda": {item.filename: item.record for item in archives if item.filename.endswith(".conda")},
        "removed": [],
        "repodata_version": 1,
    }
    return json.dumps(document, indent=1, sort_keys=True).encode()
