"""From a base as a user writes it to its source."""

from __future__ import annotations

from pathlib import Path

from composer.bases.base import Base
from composer.bases.layout import LayoutBase, split_name
from composer.bases.rootfs import RootfsBase
from composer.bases.scratch import ScratchBase
from composer.errors import UnsupportedError, UsageError
from composer.store.layout import Layout
from composer.store.store import Store

SCHEMES = ("oci", "oci-archive", "docker-archive", "docker-daemon", "rootfs")
_FOREIGN = frozenset({"containers-storage", "dir", "docker", "file", "ftp", "http", "https", "podman", "tar"})
"""Schemes of other tools: no image is called so."""
_FORMS = "oci:DIR, oci-archive:FILE, docker-archive:FILE, docker-daemon:NAME, rootfs:FILE, scratch"


def open_base(text: str, store: Store) -> Base:
    """The source that ``text`` names: a scheme and its argument, ``scratch``, or a name in the local store.

    Raises `UsageError` for an unknown scheme, `UnsupportedError` for a registry's reference.
    """
    if text == "scratch":
        return ScratchBase()
    descriptor = store.layout.get(text)
    if descriptor is not None:
        return LayoutBase(store.layout, text, store, text)
    scheme, colon, rest = text.partition(":")
    if not colon or scheme not in SCHEMES:
        return _unknown(text, scheme)
    if not rest:
        raise UsageError(text, "names nothing after its scheme", f"write one of {_FORMS}")
    if scheme == "rootfs":
        return RootfsBase(Path(rest), store)
    if scheme == "docker-daemon":
        from composer.bases.daemon import DaemonBase

        return DaemonBase(rest, store, text)
    path, name = split_name(rest)
    if scheme == "oci":
        return LayoutBase(Layout(path), name, store, text)
    from composer.bases.archive import DockerArchiveBase, OciArchiveBase

    return (OciArchiveBase if scheme == "oci-archive" else DockerArchiveBase)(path, name, store, text)


def _unknown(text: str, scheme: str) -> Base:
    """Say what is wrong: a scheme that there is not, or a registry's reference."""
    if "://" in text or scheme in _FOREIGN:
        raise UsageError(text, f"has the unknown scheme {scheme!r}", f"write one of {_FORMS}")
    if Path(text).exists():
        raise UsageError(text, "names a file or folder without a scheme", f"write one of {_FORMS}")
    cause = "is not in the local store, and this version reads no registries"
    raise UnsupportedError(text, cause, f"pull it with an engine and write docker-daemon:{text}, or one of {_FORMS}")
