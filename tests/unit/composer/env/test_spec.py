from __future__ import annotations

import pytest

from composer.env import builtin
from composer.env.spec import EnvironmentSpec, merge
from composer.errors import ComposerError, SpecError, UnsupportedError

_TEXT = """\
name: tiny
channels: [conda-forge]
dependencies:
  - python   3.11.*   # a comment
  - conda-forge::zlib
platforms: [linux-64, linux-aarch64]
variables: {A: b}
"""


def test_parse_keeps_everything_and_warns_of_keys_without_effect():
    spec = EnvironmentSpec.parse(_TEXT)
    assert spec.dependencies == ("python 3.11.*", "conda-forge::zlib")
    assert spec.names == ("python", "zlib")
    assert spec.platforms == ("linux-64", "linux-aarch64")
    assert spec.extra == {"variables": {"A": "b"}}
    assert spec.warnings == ("environment.yml: the key 'variables' has no effect",)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        pytest.param("a: [", SpecError, "not YAML (line 1)", id="yaml"),
        pytest.param("- a", SpecError, "not a mapping", id="list"),
        pytest.param("name: x", SpecError, "no list of dependencies", id="no dependencies"),
        pytest.param("dependencies: []", SpecError, "no list of dependencies", id="empty"),
        pytest.param("dependencies: [1]", SpecError, "has 1 under dependencies", id="number"),
        pytest.param("dependencies: ['>=3']", SpecError, "bad dependency", id="no name"),
        pytest.param("dependencies: [{pip: [a]}]", UnsupportedError, "pip", id="pip"),
        pytest.param("name: ../x\ndependencies: [a]", SpecError, "bad name", id="name"),
    ],
)
def test_parse_names_the_input_and_the_cause(text: str, error: type[ComposerError], words: str):
    with pytest.raises(error) as caught:
        EnvironmentSpec.parse(text, "some/environment.yml")
    assert caught.value.input_name == "some/environment.yml"
    assert words in str(caught.value)
    assert caught.value.next_step


def test_content_hash_is_of_the_question_not_of_its_spelling():
    spec = EnvironmentSpec.parse(_TEXT)
    same = EnvironmentSpec.parse(_TEXT.replace("  # a comment", "").replace("tiny", "other"))
    assert same.content_hash("linux-64") == spec.content_hash("linux-64")
    assert spec.content_hash("linux-aarch64") != spec.content_hash("linux-64")
    assert EnvironmentSpec.parse(_TEXT.replace("3.11", "3.12")).content_hash("linux-64") != spec.content_hash(
        "linux-64"
    )


def test_merge_asks_for_everything_on_the_common_platforms():
    other = EnvironmentSpec("more", ("ipython", "python 3.11.*"), ("local",), ("linux-64",))
    merged = merge([EnvironmentSpec.parse(_TEXT), other])
    assert merged.name == "tiny-more"
    assert merged.dependencies == ("python 3.11.*", "conda-forge::zlib", "ipython")
    assert merged.channels == ("conda-forge", "local")
    assert merged.platforms == ("linux-64",)


def test_merge_refuses_specs_without_a_common_platform():
    with pytest.raises(SpecError, match="no platform in common"):
        merge([EnvironmentSpec("a", ("x",)), EnvironmentSpec("b", ("y",), platforms=("linux-aarch64",))])


def test_built_in_specs_are_found_by_name_and_others_by_path(tmp_path):
    assert "core" in builtin.names()
    assert "python" in builtin.load("core").names
    (tmp_path / "environment.yml").write_text(_TEXT)
    assert builtin.load(str(tmp_path)).name == "tiny"
    assert builtin.load(f"core,{tmp_path}/environment.yml").name == "core-tiny"
    with pytest.raises(SpecError, match=r"use one of .*core"):
        builtin.find("nonesuch")
