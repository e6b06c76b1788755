"""What a sink is: somewhere that a planned image can be put."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from composer.oci.digest import Digest
from composer.plan.values import Plan, PlannedBlob
from composer.progress import Progress

BlobReader = Callable[[PlannedBlob], AbstractContextManager[BinaryIO]]
"""Opens the stored bytes of a planned blob, wherever its origin is."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a sink did: where the image is now, and how many bytes of blobs had to be moved there."""

    destination: str
    manifest_digest: Digest
    config_digest: Digest
    bytes_moved: int


class Sink(Protocol):
    """One destination; `apply` leaves all of the image and its names, or nothing."""

    def has(self, plan: Plan) -> bool:
        """Whether exactly this image, under the sink's names, is there already."""
        ...

    def apply(self, plan: Plan, read: BlobReader, progress: Progress) -> Written:
        """Put the image there; raises a `ComposerError` and leaves no half-written image, tag or file."""
        ...
