"""What a finished layer is."""

from __future__ import annotations

from dataclasses import dataclass

from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, stored: the blob's descriptor, the digest of its tar, and what it holds.

    ``role`` is one of ``libc``, ``bin``, ``browser``, ``plugin``, ``agent``; ``packages`` names what is in it for
    people and for `composer inspect`; ``unpacked_size`` is the tar's size in bytes.
    """

    descriptor: Descriptor
    diff_id: Digest
    role: str
    packages: tuple[str, ...]
    unpacked_size: int
