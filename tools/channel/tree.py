"""The files of a package in memory: sorted, with no owner and no time, so that nothing of the build machine gets in."""

from __future__ import annotations

import io
import posixpath
import tarfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A regular file (``data``) or a symbolic link (``target``)."""

    data: bytes = b""
    executable: bool = False
    target: str | None = None

    @property
    def is_elf(self) -> bool:
        """Whether it is an ELF file."""
        return self.target is None and self.data[:4] == b"\x7fELF"


Tree = dict[str, Entry]  # path relative to the root, with "/" -> entry


def link(target: str) -> Entry:
    """A symbolic link to ``target``."""
    return Entry(target=target)


def read_tar(data: bytes) -> Tree:
    """The files and links of an uncompressed tar; hard links become files of their own, directories are implied."""
    tree: Tree = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            path = posixpath.normpath(member.name)
            if member.issym():
                tree[path] = link(member.linkname)
            elif member.islnk():
                tree[path] = tree[posixpath.normpath(member.linkname)]
            elif member.isreg() and (stream := archive.extractfile(member)) is not None:
                tree[path] = Entry(stream.read(), bool(member.mode & 0o111))
    return tree


def resolve(path: str, target: str) -> str:
    """The path, relative to the root, that the link ``path`` names with ``target``."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(path), target)).lstrip("/")


def relative(path: str, destination: str) -> str:
    """The target of a link at ``path`` that names ``destination``; both are relative to the root."""
    return posixpath.relpath(destination, posixpath.dirname(path) or ".")


def without_dangling(tree: Tree) -> Tree:
    """The tree less links to what is not in it, directly or through other such links."""
    directories = {parent for path in tree for parent in _parents(path)}
    while True:
        kept = {
            path: entry
            for path, entry in tree.items()
            if entry.target is None or (there := resolve(path, entry.target)) in tree or there in directories
        }
        if len(kept) == len(tree):
            return kept
        tree = kept


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
