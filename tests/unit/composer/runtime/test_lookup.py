from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from composer.runtime.lookup import image_has, image_text


@pytest.fixture
def lower(tmp_path: Path) -> list[Path]:
    for name in ("top/etc", "base/etc"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "base/etc/passwd").write_text("base")
    (tmp_path / "base/etc/group").symlink_to("/etc/passwd")
    return [tmp_path / "top", tmp_path / "base"]


def test_the_lowest_layer_is_seen(lower: list[Path]) -> None:
    assert image_text(lower, "etc/passwd") == "base"


def test_the_top_layer_wins(lower: list[Path]) -> None:
    (lower[0] / "etc/passwd").write_text("top")
    assert image_text(lower, "etc/passwd") == "top"


def test_links_are_the_images_own(lower: list[Path]) -> None:
    assert image_text(lower, "etc/group") == "base"


def test_missing(lower: list[Path]) -> None:
    assert image_text(lower, "etc/none") == ""
    assert not image_has(lower, "tmp")


@pytest.mark.root
def test_a_whiteout_hides(lower: list[Path]) -> None:
    os.mknod(lower[0] / "etc/passwd", stat.S_IFCHR, 0)
    assert image_text(lower, "etc/passwd") == ""
    assert not image_has(lower, "etc/passwd")
