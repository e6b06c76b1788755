"""Descriptors (image-spec 1.1, descriptor.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from composer.errors import ArchiveError, UsageError
from composer.oci.digest import Digest


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A blob's media type, digest and size in bytes; ``extra`` holds every other field as it was read."""

    media_type: str
    digest: Digest
    size: int
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, value: Any, source: str = "descriptor") -> Self:
        """Check a decoded JSON value; raises `ArchiveError` naming ``source``."""
        if not isinstance(value, dict):
            raise ArchiveError(source, "a descriptor is not an object")
        size, media_type, digest = value.get("size"), value.get("mediaType", ""), value.get("digest")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ArchiveError(source, f"a descriptor has the size {size!r}")
        if not isinstance(media_type, str) or not isinstance(digest, str):
            raise ArchiveError(source, "a descriptor lacks a media type or digest")
        extra = {key: item for key, item in value.items() if key not in ("mediaType", "digest", "size")}
        try:
            return cls(media_type, Digest.parse(digest), size, extra)
        except UsageError as error:
            cause = f"a descriptor has the digest {digest[:80]!r}, which is not a sha256"
            raise ArchiveError(source, cause, "make the image again with sha256") from error

    @property
    def annotations(self) -> Mapping[str, str]:
        """The descriptor's annotations, empty when it has none."""
        value = self.extra.get("annotations")
        return value if isinstance(value, dict) else {}

    def as_json(self) -> dict[str, Any]:
        """The JSON object, in the specification's order of keys."""
        return {"mediaType": self.media_type, "digest": str(self.digest), "size": self.size, **self.extra}
