from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from composer.errors import ComposerError
from tests.kit.skip import unavailable
from tools.channel.architecture import X86_64
from tools.channel.debs import conda_path, deb_package, read_deb, relocated, upstream_version
from tools.channel.errors import RecipeError
from tools.channel.recipes import DEB_RECIPES, DebRecipe
from tools.channel.tree import Entry, link


@pytest.mark.parametrize(
    ("debian", "upstream"),
    [
        ("1:1.2.13.dfsg-1", "1.2.13"),
        ("2.36-9+deb12u14", "2.36"),
        ("20250419~deb12u2", "20250419"),
        ("5.2.15-2+b13", "5.2.15"),
        ("2026f-0+deb12u1", "2026f"),
        ("2.0+dfsg-1", "2.0"),
    ],
)
def test_upstream_version(debian: str, upstream: str) -> None:
    assert upstream_version(debian) == upstream


@pytest.mark.parametrize(
    ("debian", "conda"),
    [
        ("usr/lib/x86_64-linux-gnu/libz.so.1", "lib/libz.so.1"),
        ("lib/x86_64-linux-gnu/libtinfo.so.6", "lib/libtinfo.so.6"),
        ("usr/lib/python3.11/os.py", "lib/python3.11/os.py"),
        ("bin/bash", "bin/bash"),
        ("usr/bin/openssl", "bin/openssl"),
        ("lib/terminfo/x/xterm", "share/terminfo/x/xterm"),
        ("etc/ssl/openssl.cnf", "ssl/openssl.cnf"),
        ("etc/passwd", "etc/passwd"),
    ],
)
def test_conda_path(debian: str, conda: str) -> None:
    assert conda_path(debian, "x86_64-linux-gnu") == conda


def test_links_follow_what_they_name_and_documentation_stays_out() -> None:
    tree = {
        "lib/x86_64-linux-gnu/libz.so.1": Entry(b"z"),
        "usr/lib/x86_64-linux-gnu/libz.so": link("/lib/x86_64-linux-gnu/libz.so.1"),
        "usr/bin/z": link("../lib/x86_64-linux-gnu/libz.so"),
        "usr/share/doc/z/copyright": Entry(b"text"),
        "usr/share/man/man1/z.1.gz": Entry(b"text"),
        "etc/z.conf": Entry(b"text"),
    }
    assert relocated(tree, "x86_64-linux-gnu") == {
        "lib/libz.so.1": Entry(b"z"),
        "lib/libz.so": link("libz.so.1"),
        "bin/z": link("../lib/libz.so"),
    }


def test_a_deb_becomes_a_package_with_its_licence_and_version(tmp_path: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        unavailable("dpkg-deb is not installed")
    root = tmp_path / "root"
    for name, text in (
        ("DEBIAN/control", "Package: demo\nVersion: 1:2.5-3\nArchitecture: all\nMaintainer: a <a@b>\nDescription: d\n"),
        ("usr/share/doc/demo/copyright", "free"),
        ("usr/share/demo/file", "data"),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, tmp_path / "a.deb"], check=True, capture_output=True)
    deb = read_deb(tmp_path / "a.deb")
    recipe = DebRecipe("demo", ("demo",), "MIT", ("other",), noarch=True)
    package = deb_package(recipe, [deb], X86_64, Path("unused"))
    assert (package.version, package.subdir, package.noarch) == ("2.5", "noarch", "generic")
    assert package.tree == {"share/demo/file": Entry(b"data")}
    assert package.license_texts == {"demo.txt": b"free"}
    with pytest.raises(RecipeError, match="none of its"):
        deb_package(DebRecipe("x", ("x",), "MIT"), [], X86_64, Path("unused"))


def test_a_damaged_deb_is_named(tmp_path: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        unavailable("dpkg-deb is not installed")
    (tmp_path / "bad.deb").write_bytes(b"!<arch>\n")
    with pytest.raises(ComposerError, match=r"bad\.deb: dpkg-deb cannot read it"):
        read_deb(tmp_path / "bad.deb")


def test_recipes_name_only_packages_of_the_table() -> None:
    names = {recipe.name for recipe in DEB_RECIPES}
    assert {name for recipe in DEB_RECIPES for name in recipe.depends} <= names
    assert len(names) == len(DEB_RECIPES)
