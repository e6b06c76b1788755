"""Layers copied over each other, for kernels that refuse an overlay. Run by the shim: standard library only."""

# as in the shim: pathlib costs milliseconds to import
# ruff: noqa: PTH102, PTH108, PTH112, PTH114

from __future__ import annotations

import os
import shutil
import stat


def copy_layer(source: str, target: str) -> None:
    """Put a layer's directory over what is below it; its whiteouts and opaque directories are overlayfs' own."""
    for row in os.scandir(source):
        path, status = f"{target}/{row.name}", row.stat(follow_symlinks=False)
        whiteout = stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
        if not row.is_dir(follow_symlinks=False) or os.path.islink(path) or _opaque(row.path):
            _remove(path)
        if whiteout:
            continue
        if row.is_dir(follow_symlinks=False):
            if not os.path.isdir(path):
                _remove(path)
                os.mkdir(path)
            copy_layer(row.path, path)
        elif stat.S_ISREG(status.st_mode) or row.is_symlink():
            shutil.copyfile(row.path, path, follow_symlinks=False)
        else:
            os.mknod(path, status.st_mode, status.st_rdev)
        os.lchown(path, status.st_uid, status.st_gid)  # before the mode: it clears the setuid bit
        shutil.copystat(row.path, path, follow_symlinks=False)


def _opaque(path: str) -> bool:
    names = os.listxattr(path, follow_symlinks=False)
    return "trusted.overlay.opaque" in names or "user.overlay.opaque" in names


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
