"""The plan: every field of the base survives, and our layers are never there twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from composer.bases.base import BaseImage
from composer.errors import PlatformError, UnsupportedError
from composer.oci.mediatype import DOCKER, OCI, Family
from composer.oci.platform import Platform
from composer.plan.append import plan_append
from composer.plan.detect import detect
from composer.plan.values import Mode, Options, Plan
from composer.store.store import Store
from tests.kit.images import image, member, runtime, tar

FIELDS: dict[str, object] = {
    "User": "1:2", "WorkingDir": "/w", "Env": ["A=<&>"], "ExposedPorts": {"1/tcp": {}}, "StopSignal": "SIGINT",
    "Healthcheck": {"Test": ["NONE"]}, "Volumes": {"/v": {}}, "OnBuild": ["RUN x"], "Unknown": {"z": 1, "a": 2},
    "Labels": {"theirs": "1"}, "Entrypoint": ["/e"], "Cmd": ["c"],
}  # fmt: skip
LAYER = tar(member("a", data=b"a"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path)


def as_base(plan: Plan) -> BaseImage:
    layers = tuple(blob.descriptor for blob in plan.layers)
    diff_ids = tuple(blob.diff_id for blob in plan.layers)
    digest = plan.manifest_digest
    return BaseImage("again", plan.platform, plan.family, digest, plan.manifest, plan.config, layers, diff_ids)


@pytest.mark.parametrize("mode", ["sidecar", "passive"])
def test_base_fields_survive(store: Store, mode: Mode) -> None:
    base = image(FIELDS, LAYER, author="me", created="2020-01-02T03:04:05.600+00:00")
    document = json.loads(plan_append(base, runtime(store), Options(mode)).config)
    kept = {key: value for key, value in FIELDS.items() if key not in ("Labels", "Entrypoint", "Cmd")}
    assert {key: document["config"][key] for key in kept} == kept
    assert document["config"]["Labels"]["theirs"] == "1"
    assert document["author"] == "me"
    assert document["created"] == "2020-01-02T03:04:05.6Z"
    if mode == "passive":
        assert (document["config"]["Entrypoint"], document["config"]["Cmd"]) == (["/e"], ["c"])
    else:
        assert document["config"]["Entrypoint"] == ["/.oc/bin/python3", "-I", "/.oc/agent.pyz"]
        assert "Cmd" not in document["config"]


@pytest.mark.parametrize("family", [OCI, DOCKER], ids=["oci", "docker"])
def test_family_is_kept(store: Store, family: Family) -> None:
    manifest = json.loads(plan_append(image({}, LAYER, family=family), runtime(store), Options()).manifest)
    assert manifest["mediaType"] == family.manifest
    assert {row["mediaType"] for row in manifest["layers"][1:]} == {family.layer_type("gzip")}


@pytest.mark.parametrize("entries", [0, 1, 3])
def test_one_history_entry_a_layer(store: Store, entries: int) -> None:
    base = image({}, LAYER, history=[{"created_by": "x"}] * entries)
    rows = json.loads(plan_append(base, runtime(store), Options()).config)["history"]
    assert sum(1 for row in rows if not row.get("empty_layer")) == 3
    assert all(row["created"] for row in rows)


def test_same_runtime_is_reused(store: Store) -> None:
    first = plan_append(image(FIELDS, LAYER), runtime(store), Options())
    again = plan_append(as_base(first), runtime(store), Options())
    assert again.reused
    assert (again.config, again.manifest, again.tags.source) == (first.config, first.manifest, first.tags.source)


@pytest.mark.parametrize("mode", ["sidecar", "passive"])
def test_older_runtime_is_replaced(store: Store, mode: Mode) -> None:
    base = image(FIELDS, LAYER, history=[{"created_by": "x"}, {"created_by": "y", "empty_layer": True}])
    old = plan_append(base, runtime(store, "old"), Options(labels={"theirs": "2"}))
    new = plan_append(as_base(old), runtime(store, "new"), Options(mode))
    fresh = plan_append(base, runtime(store, "new"), Options(mode))
    assert json.loads(new.config) == json.loads(fresh.config)
    assert not new.reused
    assert new.layers == tuple(fresh.layers)


def test_labels_without_layers_are_not_believed(store: Store) -> None:
    made = as_base(plan_append(image({}, LAYER), runtime(store), Options()))
    assert detect(made) is not None
    assert detect(replace(made, diff_ids=made.diff_ids[:1], layers=made.layers[:1])) is None


def test_limits_are_refused(store: Store) -> None:
    many = image({}, *(tar(member(str(number))) for number in range(126)))
    with pytest.raises(UnsupportedError, match="127"):
        plan_append(many, runtime(store), Options())
    other = replace(image({}, LAYER), platform=Platform("linux", "arm64"))
    with pytest.raises(PlatformError, match="linux/arm64"):
        plan_append(other, runtime(store), Options())


def test_foreign_layers_are_kept(store: Store) -> None:
    base = image({}, LAYER, family=DOCKER)
    foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
    row = replace(base.layers[0], media_type=foreign, extra={"urls": ["https://x/y"]})
    manifest = json.loads(plan_append(replace(base, layers=(row,)), runtime(store), Options()).manifest)
    assert manifest["layers"][0] == {
        "mediaType": foreign, "digest": row.digest, "size": row.size, "urls": ["https://x/y"],
    }  # fmt: skip
