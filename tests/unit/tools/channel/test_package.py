from __future__ import annotations

import bz2
import io
import json
import tarfile
import zipfile
from dataclasses import replace

import pytest
import zstandard

from tools.channel.package import LONG_PLACEHOLDER, Archive, Format, Package, Placeholder, archive
from tools.channel.repodata import repodata
from tools.channel.tree import Entry, link

PACKAGE = Package(
    name="demo",
    version="1.0",
    build="h",
    subdir="linux-64",
    license="MIT",
    tree={
        "lib/libdemo.so.1": Entry(b"\x7fELFx", executable=True),
        "lib/libdemo.so": link("libdemo.so.1"),
        "bin/demo": Entry(f"#!{LONG_PLACEHOLDER}/bin/sh\n".encode(), executable=True),
        "share/dir": link("../lib"),
    },
    depends=("libzlib >=1", "__glibc >=2.36"),
    placeholders={"bin/demo": Placeholder(LONG_PLACEHOLDER, "text")},
    license_texts={"LICENSE": b"do what you like"},
)


def members(item: Archive) -> dict[str, bytes | str]:
    """The files (bytes) and links (target) of a package, info included."""
    if item.filename.endswith(".tar.bz2"):
        tars = [bz2.decompress(item.data)]
    else:
        with zipfile.ZipFile(io.BytesIO(item.data)) as parts:
            names = [name for name in parts.namelist() if name.endswith(".tar.zst")]
            tars = [zstandard.ZstdDecompressor().decompress(parts.read(name)) for name in names]
    found: dict[str, bytes | str] = {}
    for data in tars:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                assert (member.uid, member.gid, member.uname, member.mtime) == (0, 0, "", 1_700_000_000)
                stream = tar.extractfile(member) if member.isreg() else None
                found[member.name] = stream.read() if stream else member.linkname
    return found


def document(item: Archive, name: str) -> dict[str, object]:
    data = json.loads(members(item)[f"info/{name}"])
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("fmt", ["conda", "bz2"])
def test_both_formats_hold_the_same_files(fmt: Format) -> None:
    item = archive(PACKAGE, fmt)
    found = members(item)
    assert {name for name in found if not name.startswith("info/")} == set(PACKAGE.tree)
    assert found["lib/libdemo.so"] == "libdemo.so.1"
    assert found["info/licenses/LICENSE"] == b"do what you like"
    assert found["info/has_prefix"] == f'"{LONG_PLACEHOLDER}" text "bin/demo"\n'.encode()
    assert document(item, "index.json").items() <= item.record.items()
    assert item.filename.startswith(f"demo-1.0-{item.record['build']}.")


def test_paths_name_digest_type_and_placeholder_of_each_file() -> None:
    paths = document(archive(PACKAGE, "conda"), "paths.json")["paths"]
    assert isinstance(paths, list)
    of = {item["_path"]: item for item in paths}
    assert of["lib/libdemo.so"]["path_type"] == "softlink"
    assert of["lib/libdemo.so"]["sha256"] == of["lib/libdemo.so.1"]["sha256"]
    assert of["share/dir"]["size_in_bytes"] == 0
    assert of["bin/demo"]["prefix_placeholder"] == LONG_PLACEHOLDER
    assert of["bin/demo"]["file_mode"] == "text"


def test_the_same_package_gives_the_same_bytes_in_any_order() -> None:
    shuffled = replace(PACKAGE, tree=dict(reversed(PACKAGE.tree.items())), depends=PACKAGE.depends[::-1])
    assert archive(shuffled, "conda") == archive(PACKAGE, "conda")


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"tree": {**PACKAGE.tree, "bin/demo": Entry(b"other", executable=True)}}, id="content"),
        pytest.param({"tree": {**PACKAGE.tree, "lib/libdemo.so.1": Entry(b"\x7fELFx")}}, id="mode"),
        pytest.param({"tree": {**PACKAGE.tree, "share/dir": link("../bin")}}, id="link"),
        pytest.param({"depends": ()}, id="depends"),
    ],
)
def test_another_content_has_another_name(changed: dict[str, object]) -> None:
    other = replace(PACKAGE, **changed)  # type: ignore[arg-type]
    assert archive(other, "conda").filename != archive(PACKAGE, "conda").filename


def test_noarch_python_packages_carry_their_entry_points() -> None:
    package = replace(PACKAGE, noarch="python", subdir="noarch", entry_points=("demo = demo:main",))
    item = archive(package, "conda")
    assert document(item, "link.json")["noarch"] == {"type": "python", "entry_points": ["demo = demo:main"]}
    assert item.record["noarch"] == "python"
    assert item.record["platform"] is None


@pytest.mark.parametrize(("fmt", "key"), [("conda", "packages.conda"), ("bz2", "packages")])
def test_repodata_puts_each_format_under_its_own_key(fmt: Format, key: str) -> None:
    item = archive(PACKAGE, fmt)
    data = json.loads(repodata("linux-64", [item]))
    assert data["info"] == {"subdir": "linux-64"}
    assert data[key] == {item.filename: item.record}
    assert data["packages"] == {} or data["packages.conda"] == {}
