"""Content digests (OCI image-spec 1.1, descriptor.md, "Digests")."""

from __future__ import annotations

import hashlib
import re
from typing import Self

from composer.errors import UsageError

_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")


class Digest(str):
    """``sha256:`` and 64 lower-case hexadecimal digits. Other registered algorithms are refused."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Check and wrap ``text``; raises `UsageError`."""
        if not _PATTERN.fullmatch(text):
            raise UsageError(text, "is not a sha256 digest", "write sha256: and 64 hexadecimal digits")
        return cls(text)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The digest of ``data``."""
        return cls("sha256:" + hashlib.sha256(data).hexdigest())

    @property
    def hex(self) -> str:
        """The digits without the algorithm: a file's name under ``blobs/sha256``."""
        return self[7:]

    @property
    def short(self) -> str:
        """The first 12 digits, for people."""
        return self[7:19]
