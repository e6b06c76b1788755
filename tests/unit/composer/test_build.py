"""The chain: names that it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from composer.build import default_name
from composer.plan.append import plan_append
from composer.plan.values import Options
from composer.store.store import Store
from tests.kit.images import image, runtime


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("rootfs:/x/alpine-3.20.3-x86_64.tar.gz", "alpine-3.20.3-x86_64"),
        ("rootfs:/x/root.tzst", "root"),
        ("oci-archive:/x/made.tar", "made"),
        ("oci:/x/layout", "layout"),
        ("docker-daemon:alpine:3.20", "docker-daemon-alpine-3.20"),
        ("rootfs:/x/.tar", "image"),
        ("scratch", "scratch"),
    ],
)
def test_default_name(base: str, name: str, tmp_path: Path) -> None:
    plan = plan_append(image({}), runtime(Store.open(tmp_path)), Options())
    assert default_name(base, plan) == f"{name}-rt:{plan.tags.source}"
