"""Layers copied over each other, as overlayfs would show them (image-spec 1.1, layer.md)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from composer.runtime.layer_copy import copy_layer

pytestmark = pytest.mark.root


def test_layers_over_each_other(tmp_path: Path) -> None:
    lower, upper, target = (tmp_path / name for name in ("lower", "upper", "target"))
    for folder in (lower / "kept", lower / "gone", lower / "opaque", lower / "linked", lower / "replaced"):
        folder.mkdir(parents=True)
        (folder / "file").write_text("lower")
    (lower / "link").symlink_to("linked")
    upper.mkdir()
    os.mknod(upper / "gone", stat.S_IFCHR, os.makedev(0, 0))
    for name in ("kept", "opaque", "link"):
        (upper / name).mkdir()
        (upper / name / "new").write_text("upper")
    os.setxattr(upper / "opaque", "trusted.overlay.opaque", b"y")
    (upper / "replaced").write_text("upper")
    (upper / "replaced").chmod(0o4755)
    os.chown(upper / "kept", 12, 34)
    target.mkdir()
    for layer in (lower, upper):
        copy_layer(str(layer), str(target))
    names = sorted(str(path.relative_to(target)) for path in target.rglob("*") if not path.is_dir())
    assert names == ["kept/file", "kept/new", "link/new", "linked/file", "opaque/new", "replaced"]
    assert stat.S_IMODE((target / "replaced").stat().st_mode) == 0o4755
    assert ((target / "kept").stat().st_uid, (target / "kept").stat().st_gid) == (12, 34)
    assert not (target / "link").is_symlink()
