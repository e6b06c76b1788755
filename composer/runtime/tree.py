"""One layer's entries put below a directory, never outside of it (image-spec 1.1, layer.md)."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from pathlib import Path
from typing import Self

from composer.errors import ArchiveError
from composer.runtime.kernel import open_in_root

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_XATTR = "SCHILY.xattr."
_SPARSE_LIMIT = 1 << 30  # bytes: a sparse header of a few bytes may claim any size
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY


class Tree:
    """The directory being filled. ``skipped`` counts devices that only root can make."""

    def __init__(self, root: Path) -> None:
        self._path = root
        self._privileged = os.geteuid() == 0
        self._root = os.open(root, _DIRECTORY | os.O_CLOEXEC)
        self._parent: tuple[str, int] | None = None
        self._times: list[tuple[str, float]] = []
        self.skipped = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._forget_parent()
        os.close(self._root)

    def add(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        """Place one entry; raises `ArchiveError` for a hostile one and `OSError`."""
        folder, name = os.path.split(_checked(member.name))
        parent = self._open_parent(folder)
        if name == _OPAQUE:
            key = "trusted.overlay.opaque" if self._privileged else "user.overlay.opaque"
            os.setxattr(f"/proc/self/fd/{parent}", key, b"y")
        elif name.startswith(_WHITEOUT):
            _clear(parent, name[len(_WHITEOUT) :])
            os.mknod(name[len(_WHITEOUT) :], stat.S_IFCHR, os.makedev(0, 0), dir_fd=parent)
        elif not name:
            self._attributes(member, ".", self._root)
        elif self._create(member, archive, name, parent):
            self._attributes(member, name, parent)

    def finish(self) -> None:
        """Set the directories' times, once nothing is put into them any more."""
        self._forget_parent()
        for name, time in reversed(self._times):
            try:
                handle = open_in_root(self._root, name, _DIRECTORY)
            except (FileNotFoundError, NotADirectoryError):
                continue  # a later entry took its place
            os.utime(handle, (time, time))
            os.close(handle)

    def _create(self, member: tarfile.TarInfo, archive: tarfile.TarFile, name: str, parent: int) -> bool:
        if member.isdir():
            if not _is_directory(parent, name):
                _clear(parent, name)
                os.mkdir(name, 0o700, dir_fd=parent)
            return True
        _clear(parent, name)
        if member.issym():
            os.symlink(member.linkname, name, dir_fd=parent)
        elif member.islnk():
            folder, source = os.path.split(_checked(member.linkname))
            handle = open_in_root(self._root, folder, _DIRECTORY)
            try:
                os.link(source, name, src_dir_fd=handle, dst_dir_fd=parent, follow_symlinks=False)
            finally:
                os.close(handle)
            return False  # it shares the attributes of the file that it is
        elif member.isreg():
            _write(member, archive, name, parent)
        elif member.isfifo():
            os.mkfifo(name, 0o600, dir_fd=parent)
        elif member.ischr() or member.isblk():
            return self._device(member, name, parent)
        else:
            raise ArchiveError(member.name, f"has the unknown tar type {member.type!r}", "use another image")
        return True

    def _device(self, member: tarfile.TarInfo, name: str, parent: int) -> bool:
        kind = stat.S_IFCHR if member.ischr() else stat.S_IFBLK
        number = os.makedev(member.devmajor, member.devminor)
        if not self._privileged or number == 0:  # 0:0 would be a whiteout
            self.skipped += 1
            return False
        os.mknod(name, kind | 0o600, number, dir_fd=parent)
        return True

    def _attributes(self, member: tarfile.TarInfo, name: str, parent: int) -> None:
        if self._privileged:
            os.chown(name, member.uid, member.gid, dir_fd=parent, follow_symlinks=False)
        if not member.issym():
            os.chmod(name, member.mode & 0o7777, dir_fd=parent)
        for key, value in member.pax_headers.items():
            if key.startswith(_XATTR) and not key.startswith(f"{_XATTR}trusted.overlay."):
                self._xattr(f"/proc/self/fd/{parent}/{name}", key[len(_XATTR) :], value)
        if member.isdir():
            self._times.append((_checked(member.name), member.mtime))
        else:
            os.utime(name, (member.mtime, member.mtime), dir_fd=parent, follow_symlinks=False)

    def _xattr(self, path: str, key: str, value: str) -> None:
        try:
            os.setxattr(path, key, value.encode("utf-8", "surrogateescape"), follow_symlinks=False)
        except OSError:
            if self._privileged and key.startswith(("security.capability", "user.")):
                raise

    def _open_parent(self, folder: str) -> int:
        if self._parent is None or self._parent[0] != folder:
            self._forget_parent()
            try:
                handle = open_in_root(self._root, folder, _DIRECTORY)
            except FileNotFoundError:
                handle = self._make_parents(folder)
            self._parent = (folder, handle)
        return self._parent[1]

    def _make_parents(self, folder: str) -> int:
        above, name = os.path.split(folder)
        parent = open_in_root(self._root, "", _DIRECTORY) if not above else None
        if parent is None:
            try:
                parent = open_in_root(self._root, above, _DIRECTORY)
            except FileNotFoundError:
                parent = self._make_parents(above)
        try:
            os.mkdir(name, 0o755, dir_fd=parent)
        finally:
            os.close(parent)
        return open_in_root(self._root, folder, _DIRECTORY)

    def _forget_parent(self) -> None:
        if self._parent is not None:
            os.close(self._parent[1])
            self._parent = None


def _checked(name: str) -> str:
    """``name`` relative to the root and without dots; ``..`` is refused."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name:
        raise ArchiveError(name, "leads out of the layer", "use another image")
    return "/".join(parts)


def _is_directory(parent: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _clear(parent: int, name: str) -> None:
    """Remove what an earlier entry of the same name left."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):
        shutil.rmtree(name, dir_fd=parent)


def _write(member: tarfile.TarInfo, archive: tarfile.TarFile, name: str, parent: int) -> None:
    if member.issparse() and member.size > _SPARSE_LIMIT:
        raise ArchiveError(member.name, f"is a sparse file of {member.size} bytes", "use another image")
    source = archive.extractfile(member)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=parent), "wb", buffering=0) as out:
        if source is not None:
            with source:
                shutil.copyfileobj(source, out, 1 << 20)
