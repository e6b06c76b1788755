"""The JSON documents of images: bounded, checked, in one line when they are refused."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.errors import ArchiveError, ComposerError, UnsupportedError
from composer.oci.canonical import LIMIT, load
from composer.oci.config import Config
from composer.oci.index import is_attestation, matches, parse_index, platform_of
from composer.oci.manifest import Manifest
from composer.oci.mediatype import DOCKER, OCI
from composer.oci.platform import Platform

D = "sha256:" + "0" * 64
CONFIG = {"mediaType": OCI.config, "digest": D, "size": 2}
SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1+prettyjws"


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "not a JSON object"),
        (b" " * (LIMIT + 1), "more"),
    ],
    ids=["half", "deep", "list", "large"],
)
def test_what_is_no_document(data: bytes, cause: str) -> None:
    with pytest.raises(ArchiveError, match=cause):
        load(data, "x")


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"schemaVersion": 1, "fsLayers": []}, UnsupportedError),
        ({"mediaType": SCHEMA_1, "layers": []}, UnsupportedError),
        (
            {"config": {**CONFIG, "mediaType": "application/vnd.cncf.helm.config.v1+json"}, "layers": []},
            UnsupportedError,
        ),
        ({"layers": []}, ArchiveError),
        ({"config": CONFIG}, ArchiveError),
        ({"config": {**CONFIG, "digest": "sha512:00"}, "layers": []}, ArchiveError),
        ({"config": {**CONFIG, "size": -1}, "layers": []}, ArchiveError),
    ],
    ids=["schema-1", "schema-1-type", "artifact", "no-config", "no-layers", "other-digest", "negative-size"],
)
def test_refused_manifests(document: dict[str, object], error: type[ComposerError]) -> None:
    with pytest.raises(error):
        Manifest.parse(json.dumps(document).encode(), "x")


def test_manifest_without_a_type_is_of_its_configs_family() -> None:
    document = {"schemaVersion": 2, "config": {**CONFIG, "mediaType": DOCKER.config}, "layers": []}
    assert Manifest.parse(json.dumps(document).encode(), "x").family is DOCKER


@pytest.mark.parametrize(
    "document",
    [
        {"architecture": "amd64"},
        {"rootfs": {"diff_ids": []}},
        {"architecture": "amd64", "rootfs": {"diff_ids": ["x"]}},
        {"architecture": "amd64", "rootfs": {"diff_ids": [1]}},
        {"architecture": "AMD 64", "rootfs": {}},
        {"architecture": "amd64", "rootfs": {}, "history": {}},
        {"architecture": "amd64", "rootfs": {}, "config": []},
    ],
    ids=["no-rootfs", "no-architecture", "bad-diff-id", "number", "bad-architecture", "history", "config"],
)
def test_refused_configs(document: dict[str, object]) -> None:
    with pytest.raises(ArchiveError):
        Config.parse(json.dumps(document).encode(), "x")


def test_config_keeps_unknown_fields() -> None:
    config = Config.parse(json.dumps({"architecture": "arm64", "variant": "v8", "rootfs": {}, "z": 1}).encode(), "x")
    assert (config.platform, config.diff_ids, config.document["z"]) == (Platform("linux", "arm64", "v8"), (), 1)


def test_index_rows() -> None:
    rows = [
        {**CONFIG, "platform": {"os": "linux", "architecture": "amd64"}},
        {**CONFIG, "platform": {"os": "unknown", "architecture": "unknown"}},
        CONFIG,
    ]
    found = parse_index(json.dumps({"manifests": rows}).encode(), "x")
    assert [platform_of(row) for row in found] == [Platform("linux", "amd64"), Platform("unknown", "unknown"), None]
    assert [is_attestation(row) for row in found] == [False, True, False]


@pytest.mark.parametrize(
    ("offered", "wanted", "same"),
    [
        ("linux/amd64", "linux/amd64", True),
        ("linux/arm64", "linux/arm64/v8", True),
        ("linux/arm64/v8", "linux/arm64", True),
        ("linux/arm/v6", "linux/arm/v7", False),
        ("windows/amd64", "linux/amd64", False),
    ],
)
def test_platforms_match(offered: str, wanted: str, same: bool) -> None:
    assert matches(Platform.parse(offered), Platform.parse(wanted)) is same


@pytest.mark.parametrize("parse", [Manifest.parse, Config.parse, parse_index])
@given(
    data=st.binary(max_size=60)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    ["config", "layers", "manifests", "rootfs", "diff_ids", "digest", "size", "architecture"]
                ),
                inner,
            )
            | st.lists(inner, max_size=3)
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode())
)
def test_anything_is_parsed_or_refused(parse: Callable[[bytes, str], object], data: bytes) -> None:
    with contextlib.suppress(ComposerError):
        parse(data, "x")
