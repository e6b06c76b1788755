from __future__ import annotations

import json
from pathlib import Path

import pytest

from composer.errors import StoreError
from tools.channel.output import read_record, replace_channel
from tools.channel.package import archive

from .test_package import PACKAGE

_ITEM = archive(PACKAGE, "conda")
_SUBDIRS = ("noarch", "linux-64")


def test_a_channel_is_read_back_and_replaced(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "channel"
    assert read_record(out) is None
    record = replace_channel(out, _SUBDIRS, [_ITEM], ("request", "inputs"))
    assert read_record(out) == record
    again = replace_channel(out, _SUBDIRS, [], ("other", "inputs"))
    assert read_record(out) == again
    assert sorted(path.name for path in out.parent.iterdir()) == ["channel"]
    assert json.loads((out / "noarch" / "repodata.json").read_bytes())["packages"] == {}


def test_what_a_killed_build_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".channel.new" / "noarch").mkdir(parents=True)
    replace_channel(tmp_path / "channel", _SUBDIRS, [_ITEM], ("request", "inputs"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["channel"]


@pytest.mark.parametrize("name", ["linux-64/repodata.json", f"linux-64/{_ITEM.filename}"])
def test_an_incomplete_channel_is_made_again(tmp_path: Path, name: str) -> None:
    replace_channel(tmp_path / "channel", _SUBDIRS, [_ITEM], ("request", "inputs"))
    (tmp_path / "channel" / name).unlink()
    assert read_record(tmp_path / "channel") is None


def test_a_foreign_directory_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(StoreError, match="is no channel of this tool"):
        read_record(tmp_path)
    assert (tmp_path / "precious").read_text() == "mine"
