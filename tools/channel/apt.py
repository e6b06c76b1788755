"""Debian packages by apt, with a private configuration and state: nothing of the machine changes, no root is needed.

The mirror is the machine's own (apt-get(8) ``indextargets``); what it offered is pinned in the cache by sha256.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from composer.errors import ChannelError, DigestMismatchError, DiskFullError
from tools.channel.errors import ToolMissingError

Progress = Callable[[str], None]
_PATIENCE = 300  # seconds for one apt-get
_ROOM = 256_000_000  # bytes: lists as fetched and as unpacked, and the packages
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SUITE = re.compile(
    r"(bullseye|bookworm|trixie|forky|sid|stable|oldstable|oldoldstable|testing)(-security)?(/updates)?"
)


@dataclass(frozen=True)
class Mirror:
    """Where this machine gets Debian from; ``security`` is empty when its sources name no security archive."""

    main: str
    security: str


@dataclass(frozen=True)
class DebFile:
    """One ``.deb`` that a suite offers: ``filename`` as the archive calls it, size in bytes."""

    package: str
    suite: str
    filename: str
    size: int
    sha256: str

    @property
    def version(self) -> str:
        """The Debian version, with epoch."""
        return self.filename.split("_")[1].replace("%3a", ":")


class Apt:
    """The suites of one mirror, for one architecture, with their state and the fetched files under ``cache``."""

    def __init__(self, cache: Path, architecture: str, progress: Progress) -> None:
        self._state = cache / "apt" / architecture
        self._debs = cache / "debs"
        self._architecture = architecture
        self._progress = progress

    def path(self, deb: DebFile) -> Path:
        """Where the file is once it has been fetched."""
        return self._debs / f"{deb.sha256}.deb"

    def resolve(self, suite: str, packages: Iterable[str], *, refresh: bool = False) -> list[DebFile]:
        """The newest file of each package in ``suite``; the first answer is kept until ``refresh``.

        Raises ChannelError when the mirror cannot be reached or lacks a package.
        """
        names = sorted(packages)
        pinned = self._state / f"{suite}.json"
        known = {} if refresh or not pinned.is_file() else json.loads(pinned.read_text())
        if any(name not in known for name in names):
            self._update(suite)
            listing = self._run(suite, "download", "--print-uris", *names)
            known |= {deb.package: asdict(deb) for deb in parse_uris(listing, suite)}
            pinned.write_text(json.dumps(known, indent=1, sort_keys=True))
        if missing := [name for name in names if name not in known]:
            raise ChannelError(
                f"Debian suite {suite}", f"lacks {' '.join(missing)}", "look at the machine's apt sources"
            )
        return [DebFile(**known[name]) for name in names]

    def fetch(self, debs: Iterable[DebFile]) -> None:
        """Put all files into the cache; raises DigestMismatchError or ChannelError."""
        missing = [deb for deb in debs if not self.path(deb).is_file()]
        self._debs.mkdir(parents=True, exist_ok=True)
        for suite in sorted({deb.suite for deb in missing}):
            wanted = [deb for deb in missing if deb.suite == suite]
            total = sum(deb.size for deb in wanted)
            self._progress(f"downloading {len(wanted)} Debian packages of {suite} ({total / 1e6:.1f} MB)")
            with tempfile.TemporaryDirectory(dir=self._debs) as folder:
                names = [f"{deb.package}={deb.version}" for deb in wanted]
                self._run(suite, "download", *names, directory=folder)
                for deb in wanted:
                    self._take(deb, Path(folder) / deb.filename)

    def _take(self, deb: DebFile, file: Path) -> None:
        if not file.is_file():
            raise ChannelError(f"{deb.package} {deb.version}", "apt-get download left no file", "try --refresh")
        if hashlib.sha256(file.read_bytes()).hexdigest() != deb.sha256:
            raise DigestMismatchError(deb.filename, f"its sha256 is not {deb.sha256}", "try again with --refresh")
        file.rename(self.path(deb))

    def _update(self, suite: str) -> None:
        mirror = find_mirror()
        folder = self._state / suite
        self._state.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(self._state).free < _ROOM:  # apt-get update hangs on a full disk
            raise DiskFullError(str(self._state), f"less than {_ROOM // 1_000_000} MB are free", "give another --cache")
        for name in ("lists/partial", "archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        options = f"[signed-by={_KEYRING}] " if _KEYRING.is_file() else ""
        lines = [f"deb {options}{mirror.main} {suite} main"]
        if mirror.security:
            lines.append(f"deb {options}{mirror.security} {suite}-security main")
        (folder / "sources.list").write_text("\n".join(lines) + "\n")
        self._progress(f"reading the package lists of {suite}")
        self._run(suite, "update", "-q")

    def _run(self, suite: str, *arguments: str, directory: str | None = None) -> str:
        folder = self._state / suite
        options = {
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": folder / "lists",
            "Dir::State::status": "/dev/null",
            "Dir::Cache": folder,
            "APT::Architecture": self._architecture,
            "APT::Sandbox::User": "",  # stay who we are: `_apt` may not enter the cache's folder
            "APT::Update::Error-Mode": "any",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "2",
        }
        command = [
            "apt-get",
            *(part for key, value in options.items() for part in ("-o", f"{key}={value}")),
            *arguments,
        ]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, check=False, cwd=directory or folder, timeout=_PATIENCE
            )
        except subprocess.TimeoutExpired as error:
            cause = f"apt-get {arguments[0]} did not end in {_PATIENCE} s"
            raise ChannelError(
                f"Debian suite {suite}", cause, "check the network and the machine's apt sources"
            ) from error
        if result.returncode:
            errors = [line for line in result.stderr.splitlines() if line.startswith("E:")] or [result.stderr.strip()]
            next_step = "check the network and the machine's apt sources, or try --refresh"
            raise ChannelError(f"Debian suite {suite}", errors[0].removeprefix("E: "), next_step)
        return result.stdout


def find_mirror() -> Mirror:
    """The mirror of the machine's own apt sources; raises ToolMissingError or ChannelError."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise ToolMissingError(
            "apt-get, dpkg-deb", "not installed", "run this on Debian, or point --channel at a mirror of conda-forge"
        )
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return parse_targets(result.stdout)


def parse_targets(listing: str) -> Mirror:
    """The mirror in the lines ``URI RELEASE`` of apt's index targets; raises ChannelError when none is Debian's."""
    main, security = "", ""
    for line in listing.splitlines():
        uri, _, release = line.partition(" ")
        match = _SUITE.fullmatch(release)
        if match and (match[2] or match[3]):
            security = security or uri
        elif match:
            main = main or uri
    if not main:
        raise ChannelError(
            "apt sources", "name no Debian archive", "run this on a machine that gets packages from Debian"
        )
    return Mirror(main, security)


def parse_uris(listing: str, suite: str) -> list[DebFile]:
    """The files in the output of ``apt-get download --print-uris``: ``'URI' FILENAME SIZE SHA256:HEX``."""
    pattern = re.compile(r"^'[^']*' (\S+?)_(\S+) (\d+) SHA256:([0-9a-f]{64})$", re.MULTILINE)
    return [
        DebFile(name, suite, f"{name}_{rest}", int(size), sha) for name, rest, size, sha in pattern.findall(listing)
    ]
