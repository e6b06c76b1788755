"""Names of images as people write them: ``registry:5000/team/app:tag@sha256:...`` (distribution/reference)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from composer.errors import UsageError
from composer.oci.digest import Digest

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REGISTRY = re.compile(rf"{_HOST}(?::[0-9]{{1,5}})?", re.ASCII)
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*", re.ASCII)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_IDENTIFIER = re.compile(r"[0-9a-f]{64}")

_LONGEST = 255
"""Characters of a registry and repository together."""
_OFFICIAL = "library/"
_FORM = "write it like alpine:3.20 or registry:5000/team/app:tag"


@dataclass(frozen=True, slots=True)
class Reference:
    """An image's name; an empty ``registry`` is the one that an engine takes when none is written.

    ``repository`` is the path there, ``library/alpine`` for the short name ``alpine``. With neither tag nor digest the
    tag ``latest`` is meant; with both, the digest decides and the tag is for people.
    """

    registry: str
    repository: str
    tag: str | None = None
    digest: Digest | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a name as ``docker pull`` does; raises `UsageError`."""
        rest, at, digest = text.partition("@")
        rest, tag = _split_tag(rest)
        first, slash, path = rest.partition("/")
        registry, repository = (first, path) if slash and _is_registry(first) else ("", rest)
        if registry and not _REGISTRY.fullmatch(registry):
            raise UsageError(text, f"{registry!r} is not a registry's host name", _FORM)
        if repository != repository.lower():
            raise UsageError(text, "a repository's name has upper-case letters", "write it in lower case")
        if not _REPOSITORY.fullmatch(repository) or len(registry) + 1 + len(repository) > _LONGEST:
            raise UsageError(text, "is not an image's name", _FORM)
        if not registry and _IDENTIFIER.fullmatch(repository):
            raise UsageError(text, "is an image's identifier, not its name", "give the image a name")
        if tag is not None and not _TAG.fullmatch(tag):
            raise UsageError(text, f"{tag!r} is not a tag", "use at most 128 letters, digits, dots, dashes")
        official = _OFFICIAL if not registry and "/" not in repository else ""
        return cls(registry, official + repository, tag, Digest.parse(digest) if at else None)

    @property
    def name(self) -> str:
        """Registry and repository as people write them: short where the engine's default fills the rest in."""
        if self.registry:
            return f"{self.registry}/{self.repository}"
        short = self.repository.removeprefix(_OFFICIAL)
        return self.repository if "/" in short or _IDENTIFIER.fullmatch(short) else short

    @property
    def target(self) -> str:
        """What to ask a registry for: the digest, else the tag, else ``latest``."""
        return self.digest or self.tag or "latest"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return self.name + tag + (f"@{self.digest}" if self.digest else "")


def _split_tag(text: str) -> tuple[str, str | None]:
    """The name and its tag: a colon after the last slash begins one, a colon before it a port."""
    head, slash, last = text.rpartition("/")
    name, colon, tag = last.partition(":")
    return head + slash + name, tag if colon else None


def _is_registry(first: str) -> bool:
    """Whether the part before the first slash is a host, not a folder of the default registry."""
    return first == "localhost" or "." in first or ":" in first or first != first.lower()
