"""Real bases for the demo and the bench: a real distribution's where there is one, and always the empty one."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

from composer.cli.render import notice
from composer.store.store import Store

_SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "bases"


def bases(store: Store) -> Iterator[str]:
    """The bases to show: a real distribution's, and always the empty one."""
    tarballs = sorted(_SHARED.glob(f"alpine-*-{os.uname().machine}.tar.gz"))
    if tarballs:
        yield f"rootfs:{tarballs[0]}"
    elif busybox := _static_busybox():
        yield f"rootfs:{_busybox_root(busybox, store.root / 'demo-busybox.tar')}"
    else:
        notice("no real base: neither a tarball of ../shared/bases nor a static busybox is there")
    yield "scratch"


def _static_busybox() -> Path | None:
    for name in ("/bin/busybox", "/usr/bin/busybox"):
        path = Path(name)
        # A static program has no PT_INTERP, and so no loader's name in its head.
        if path.exists() and b"/ld-" not in path.read_bytes()[:4096]:
            return path
    return None


def _busybox_root(busybox: Path, target: Path) -> Path:
    applets = subprocess.run([str(busybox), "--list"], check=True, capture_output=True, text=True).stdout.split()
    with tarfile.open(target, "w") as tar:
        for name in ("bin", "etc", "root", "tmp"):
            _add(tar, name, tarfile.DIRTYPE, mode=0o1777 if name == "tmp" else 0o755)
        _add(tar, "bin/busybox", tarfile.REGTYPE, busybox.read_bytes(), mode=0o755)
        _add(tar, "etc/passwd", tarfile.REGTYPE, b"root:x:0:0:root:/root:/bin/sh\n")
        for applet in applets:
            if applet != "busybox":
                _add(tar, f"bin/{applet}", tarfile.SYMTYPE, link="busybox", mode=0o777)
    return target


def _add(tar: tarfile.TarFile, name: str, kind: bytes, data: bytes = b"", *, link: str = "", mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size, entry.linkname, entry.mode = kind, len(data), link, mode
    tar.addfile(entry, io.BytesIO(data))
