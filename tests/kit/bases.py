"""Real bases for tests: the shared tarballs, root file systems made by mmdebstrap, the empty image."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from composer.store.lock import locked
from tests.kit.skip import unavailable

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "bases"
CACHE = Path(os.environ.get("COMPOSER_TEST_CACHE", Path.home() / ".cache" / "composer-tests"))


@dataclass(frozen=True)
class KnownBase:
    """A base of the matrix: how to get its reference, and what tests may expect of it."""

    name: str
    libc: str
    has_shell: bool
    has_bash: bool
    reference: Callable[[], str]


def shared(stem: str) -> str:
    """``rootfs:`` reference of a tarball of ../shared/bases."""
    path = SHARED / f"{stem}-{platform.machine()}.tar.gz"
    if not path.exists():
        unavailable(f"{path} is not there: this test needs ../shared/bases")
    return f"rootfs:{path}"


def busybox_layout(libc: str) -> str:
    """``oci:`` reference of the official busybox image, laid out from its own layer, config and manifest bytes."""
    stem = SHARED / f"busybox-{libc}-{platform.machine()}"
    if not stem.with_name(stem.name + ".tar.gz").exists():
        unavailable(f"{stem}.tar.gz is not there: this test needs ../shared/bases")
    target = CACHE / f"busybox-{libc}-oci"
    with locked(CACHE / f"busybox-{libc}.lock"):
        if not (target / "index.json").exists():
            _write_layout(stem, target)
    return f"oci:{target}"


def _write_layout(stem: Path, target: Path) -> None:
    blobs = target / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    for suffix in (".tar.gz", ".config.json", ".manifest.json"):
        data = stem.with_name(stem.name + suffix).read_bytes()
        (blobs / hashlib.sha256(data).hexdigest()).write_bytes(data)
    manifest = stem.with_name(stem.name + ".manifest.json").read_bytes()
    descriptor = {
        "mediaType": json.loads(manifest)["mediaType"],
        "digest": "sha256:" + hashlib.sha256(manifest).hexdigest(),
        "size": len(manifest),
    }
    (target / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (target / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [descriptor]}))


def debian(suite: str) -> str:
    """``rootfs:`` reference of an essential Debian made by mmdebstrap, made once for a machine."""
    if shutil.which("mmdebstrap") is None:
        unavailable("mmdebstrap is not installed")
    if os.geteuid() != 0:
        unavailable("mmdebstrap is run as root here")
    target = CACHE / f"{suite}.tar"
    with locked(CACHE / f"{suite}.lock"):
        if not target.exists():
            partial = target.with_suffix(".partial.tar")
            made = subprocess.run(
                ["mmdebstrap", "--quiet", "--variant=essential", suite, str(partial)],
                capture_output=True,
                text=True,
                check=False,
            )
            if made.returncode != 0:
                unavailable(f"mmdebstrap {suite} failed: {made.stderr.strip()[-200:]}")
            partial.replace(target)
    return f"rootfs:{target}"


def own_suite() -> str:
    """The suite of this machine's own distribution."""
    release = platform.freedesktop_os_release()
    if release.get("ID") != "debian":
        unavailable(f"this machine runs {release.get('ID')}, and mmdebstrap makes Debian")
    return release["VERSION_CODENAME"]


MATRIX = (
    KnownBase("alpine-3.6", "musl", True, False, lambda: shared("alpine-3.6.5")),
    KnownBase("alpine-3.20", "musl", True, False, lambda: shared("alpine-3.20.3")),
    KnownBase("busybox-musl", "musl", True, False, lambda: busybox_layout("musl")),
    KnownBase("busybox-glibc", "glibc", True, False, lambda: busybox_layout("glibc")),
    KnownBase("busybox-uclibc", "uclibc", True, False, lambda: busybox_layout("uclibc")),
    KnownBase("bullseye", "glibc", True, True, lambda: debian("bullseye")),
    KnownBase("own-distribution", "glibc", True, True, lambda: debian(own_suite())),
    KnownBase("scratch", "none", False, False, lambda: "scratch"),
)
