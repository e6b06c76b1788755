"""Names in a layout's index."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from composer.errors import ArchiveError
from composer.oci.descriptor import Descriptor
from composer.oci.digest import Digest
from composer.oci.mediatype import OCI
from composer.store.layout import REFERENCE_NAME, Layout


def descriptor(name: str) -> Descriptor:
    return Descriptor(OCI.manifest, Digest.of(name.encode()), len(name), {"platform": {"os": "linux"}})


def test_a_name_moves_and_goes(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "layout")
    layout.set_reference("a:1", descriptor("old"))
    layout.set_reference("b:1", descriptor("old"))
    layout.set_reference("a:1", descriptor("new"))
    found = layout.get("a:1")
    assert found is not None
    assert found.digest == descriptor("new").digest
    assert found.extra["platform"] == {"os": "linux"}
    layout.remove_reference("a:1")
    assert list(layout.references()) == ["b:1"]
    assert layout.get("a:1") is None


def test_what_others_wrote_into_the_index_stays(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create()
    foreign = descriptor("foreign").as_json()
    (tmp_path / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [foreign]}))
    layout.set_reference("a:1", descriptor("ours"))
    assert [row.digest for row in layout.descriptors()] == [descriptor("foreign").digest, descriptor("ours").digest]
    assert list(layout.references()) == ["a:1"]


def test_a_layout_is_marked_as_one(tmp_path: Path) -> None:
    Layout(tmp_path / "layout").create()
    assert json.loads((tmp_path / "layout" / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"manifests": 1}', '{"manifests": [1]}'])
def test_a_damaged_index_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(ArchiveError, match=r"index\.json"):
        Layout(tmp_path).references()


def test_names_given_at_once_are_all_kept(tmp_path: Path) -> None:
    def name(number: int) -> None:
        Layout(tmp_path / "layout").set_reference(f"n:{number}", descriptor("image"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(name, range(32)))
    rows = Layout(tmp_path / "layout").descriptors()
    assert {row.annotations[REFERENCE_NAME] for row in rows} == {f"n:{number}" for number in range(32)}
    assert [path.name for path in (tmp_path / "layout").iterdir() if path.name.startswith(".index.json.")] == []
