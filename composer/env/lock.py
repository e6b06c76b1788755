"""Locks: the exact packages of an environment, each with the digest of its archive."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from composer.env.spec import EnvironmentSpec
from composer.errors import SpecError
from composer.oci.digest import Digest
from composer.oci.platform import Platform

_SUFFIXES = (".conda", ".tar.bz2")


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One archive for one target: ``target`` is the subdir of the environment, ``subdir`` that of the package."""

    target: str
    name: str
    version: str
    url: str
    sha256: str
    md5: str = ""
    dependencies: Mapping[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """The archive's name, which conda derives from name, version and build."""
        return self.url.rsplit("/", 1)[-1].split("?")[0].split("#")[0]

    @property
    def subdir(self) -> str:
        """The folder of the channel: the target or ``noarch``."""
        return self.url.rsplit("/", 2)[-2]

    @property
    def build(self) -> str:
        """The build string, the last part of the archive's name."""
        stem = self.file_name
        for suffix in _SUFFIXES:
            stem = stem.removesuffix(suffix)
        return stem.rsplit("-", 1)[-1]


@dataclass(frozen=True, slots=True)
class Lock:
    """A ``conda-lock.yml`` of format 1. ``source`` names the file for messages; ``own`` says that composer wrote it."""

    packages: tuple[LockedPackage, ...]
    content_hash: Mapping[str, str]
    channels: tuple[str, ...] = ()
    sources: tuple[str, ...] = ("environment.yml",)
    source: str = "conda-lock.yml"
    own: bool = True

    @property
    def targets(self) -> tuple[str, ...]:
        """The subdirs that are locked."""
        return tuple(sorted({package.target for package in self.packages}))

    def of(self, platform: Platform) -> tuple[LockedPackage, ...]:
        """The packages of one platform, by name; raises `SpecError` when it is not locked."""
        found = tuple(sorted((p for p in self.packages if p.target == platform.subdir), key=lambda p: p.name))
        if not found:
            raise SpecError(
                self.source,
                f"has no packages for {platform.subdir}, only for {', '.join(self.targets) or 'nothing'}",
                f"add {platform.subdir} to the platforms of the spec and run `composer lock`",
            )
        return found

    def digest(self, platform: Platform) -> Digest:
        """The identity of the packages of one platform.

        It is over name, version, build, subdir and sha256 of every archive, sorted: where a channel is, the order,
        comments and the time of the lock do not matter, so builds of one lock in two folders share all bytes.
        """
        rows = [[p.name, p.version, p.build, p.subdir, p.sha256] for p in self.of(platform)]
        return Digest.of(json.dumps(sorted(rows), separators=(",", ":")).encode())

    def check(self, spec: EnvironmentSpec, platform: Platform) -> None:
        """Refuse a lock that was not made from ``spec``; raises `SpecError`.

        A lock of composer's own carries the hash of its spec. One that conda-lock wrote is hashed by other rules, so
        only the presence of each named package is checked there.
        """
        packages = self.of(platform)
        if self.own:
            if self.content_hash.get(platform.subdir) == spec.content_hash(platform.subdir):
                return
            cause = f"was not made from {spec.source} as it is now (content_hash differs for {platform.subdir})"
        else:
            missing = sorted(set(spec.names) - {p.name for p in packages})
            if not missing:
                return
            cause = f"lacks {', '.join(missing)} of {spec.source}"
        raise SpecError(self.source, cause, "run `composer lock` again")
