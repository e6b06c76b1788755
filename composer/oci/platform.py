"""Platforms (image-spec 1.1, image-index.md, ``platform``)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Self

from composer.errors import UsageError

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_SUBDIRS = {"amd64": "linux-64", "arm64": "linux-aarch64"}


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system and a CPU architecture by their Go names, as in ``linux/amd64``."""

    os: str
    architecture: str
    variant: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``os/architecture[/variant]``; raises `UsageError`."""
        if not re.fullmatch(r"[a-z0-9_.-]+/[a-z0-9_.-]+(/[a-z0-9_.-]+)?", text):
            raise UsageError(text, "is not a platform", "write it like linux/amd64")
        return cls(*text.split("/"))

    @classmethod
    def host(cls) -> Self:
        """This machine's platform."""
        machine = os.uname().machine
        return cls("linux", _MACHINES.get(machine, machine))

    @property
    def subdir(self) -> str:
        """The conda subdir whose packages run here; raises `UsageError` when there is none."""
        try:
            return _SUBDIRS[self.architecture]
        except KeyError:
            raise UsageError(str(self), "has no runtime environment", f"use one of {sorted(_SUBDIRS)}") from None

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)
