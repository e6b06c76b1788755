"""What Debian, PyPI and conda call one CPU architecture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """The names of one CPU architecture, and where Debian has its glibc.

    ``glibc_debs`` are the packages whose ``glibc_directory`` holds a glibc with the directory table of the RHEL family
    (``/lib64/ /usr/lib64/``), as conda-forge's sysroots have it, where Debian builds one.
    """

    name: str
    subdir: str
    deb: str
    multiarch: str
    sysroot_package: str
    sysroot_directory: str
    glibc_debs: tuple[str, ...]
    glibc_directory: str
    wheel_platforms: tuple[str, ...]


X86_64 = Architecture(
    name="x86_64",
    subdir="linux-64",
    deb="amd64",
    multiarch="x86_64-linux-gnu",
    sysroot_package="sysroot_linux-64",
    sysroot_directory="x86_64-conda-linux-gnu/sysroot",
    glibc_debs=("libc6-amd64-i386-cross",),
    glibc_directory="usr/i686-linux-gnu/lib64",
    wheel_platforms=("manylinux_2_28_x86_64", "manylinux2014_x86_64"),
)
