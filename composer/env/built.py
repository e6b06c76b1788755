"""What a finished environment is: a folder, and which package each of its files belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from composer.oci.digest import Digest
from composer.oci.platform import Platform


@dataclass(frozen=True, slots=True)
class BuiltPackage:
    """A package of the environment; ``files`` are relative to the prefix, as they are in it, ``.pyc`` included."""

    name: str
    version: str
    build: str
    subdir: str
    url: str
    sha256: str
    license: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BuiltEnv:
    """A portable prefix in a stage: ``root`` is its folder on this machine, ``prefix`` its place in an image.

    Files that no package names (nsswitch.conf, the loader's link, ``run/``) go with the libc's.
    """

    root: Path
    prefix: str
    platform: Platform
    lock_digest: Digest
    packages: tuple[BuiltPackage, ...]
