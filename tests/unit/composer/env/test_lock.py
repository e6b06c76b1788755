from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.env import lockfile
from composer.env.lock import Lock, LockedPackage
from composer.env.spec import EnvironmentSpec
from composer.errors import ComposerError, SpecError, UnsupportedError
from composer.oci.platform import Platform

AMD64 = Platform("linux", "amd64")
SPEC = EnvironmentSpec("tiny", ("python 3.11.*",), ("conda-forge",))
PYTHON = LockedPackage(
    "linux-64", "python", "3.11.2", "file:///a/linux-64/python-3.11.2-h0_0.conda", "ab" * 32, "cd" * 16, {"zlib": ">=1"}
)
ZLIB = LockedPackage("linux-64", "libzlib", "1.2", "file:///a/noarch/libzlib-1.2-h1_3.tar.bz2", "12" * 32)
LOCK = Lock((PYTHON, ZLIB), {"linux-64": SPEC.content_hash("linux-64")}, ("file:///a",))

GOLDEN = f"""\
version: 1
metadata:
  content_hash:
    linux-64: {SPEC.content_hash("linux-64")}
  channels:
  - url: file:///a
    used_env_vars: []
  platforms:
  - linux-64
  sources:
  - environment.yml
  custom_metadata:
    generator: composer/1
package:
- name: libzlib
  version: '1.2'
  manager: conda
  platform: linux-64
  dependencies: {{}}
  url: file:///a/noarch/libzlib-1.2-h1_3.tar.bz2
  hash:
    sha256: '{"12" * 32}'
  category: main
  optional: false
- name: python
  version: 3.11.2
  manager: conda
  platform: linux-64
  dependencies:
    zlib: '>=1'
  url: file:///a/linux-64/python-3.11.2-h0_0.conda
  hash:
    md5: {"cd" * 16}
    sha256: {"ab" * 32}
  category: main
  optional: false
"""


def test_render_is_golden():
    assert lockfile.render(LOCK) == GOLDEN


def test_parse_reads_what_render_wrote():
    again = lockfile.parse(GOLDEN, "conda-lock.yml")
    assert again == replace(LOCK, packages=(ZLIB, PYTHON))
    assert (PYTHON.subdir, PYTHON.build, ZLIB.subdir, ZLIB.build) == ("linux-64", "h0_0", "noarch", "h1_3")


def test_digest_is_of_the_packages_wherever_the_channel_is():
    moved = tuple(replace(p, url=p.url.replace("file:///a", "https://host/t/secret/b"), md5="") for p in LOCK.packages)
    other = Lock(moved[::-1], {}, ("https://host/b",), ("x.yml",), "elsewhere.yml", own=False)
    assert other.digest(AMD64) == LOCK.digest(AMD64)


@pytest.mark.parametrize(
    "change",
    [{"sha256": "00" * 32}, {"version": "3.11.3"}, {"url": PYTHON.url.replace("h0_0", "h0_1")}],
    ids=["sha256", "version", "build"],
)
def test_digest_differs_with_any_package(change: dict[str, str]):
    assert Lock((replace(PYTHON, **change), ZLIB), {}).digest(AMD64) != LOCK.digest(AMD64)


def test_check_accepts_the_spec_of_the_lock_and_no_other():
    LOCK.check(SPEC, AMD64)
    with pytest.raises(SpecError, match=r"content_hash differs.*run `composer lock` again"):
        LOCK.check(replace(SPEC, dependencies=("python 3.12.*",)), AMD64)


def test_check_of_a_foreign_lock_looks_at_names():
    foreign = replace(LOCK, own=False, content_hash={"linux-64": "by other rules"})
    foreign.check(SPEC, AMD64)
    with pytest.raises(SpecError, match="lacks bash"):
        foreign.check(replace(SPEC, dependencies=("python", "bash")), AMD64)


def test_a_platform_that_is_not_locked_is_an_error():
    with pytest.raises(SpecError, match="no packages for linux-aarch64, only for linux-64"):
        LOCK.of(Platform("linux", "arm64"))


@pytest.mark.parametrize(
    ("old", "new", "error", "words"),
    [
        ("version: 1\n", "version: 4\n", UnsupportedError, "format 4"),
        ("package:", "packages:", SpecError, "not a conda-lock.yml"),
        ("manager: conda", "manager: pip", UnsupportedError, "libzlib with pip"),
        ("sha256: '12", "sha256: '1z", SpecError, "no sha256 for libzlib"),
        ("url: file:///a/noarch/libzlib-1.2-h1_3.tar.bz2", "url: ../x", SpecError, "no usable URL for libzlib"),
        ("metadata:", "metadata: [", SpecError, "not YAML"),
        ("  content_hash:\n    linux-64:", "  content_hash:", SpecError, "bad content_hash"),
    ],
    ids=["format", "no packages", "pip", "sha256", "url", "yaml", "content_hash"],
)
def test_parse_names_what_is_wrong(old: str, new: str, error: type[ComposerError], words: str):
    assert old in GOLDEN
    with pytest.raises(error) as caught:
        lockfile.parse(GOLDEN.replace(old, new, 1), "a/conda-lock.yml")
    assert caught.value.input_name == "a/conda-lock.yml"
    assert words in str(caught.value)


@given(st.text())
def test_parse_raises_only_our_errors(text: str):
    with pytest.raises(ComposerError):
        lockfile.parse(text, "x")
