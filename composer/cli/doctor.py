"""``composer doctor``: what this machine has and lacks, and what to install."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import asdict

from composer.cli.options import Json
from composer.cli.render import emit, say, table
from composer.runtime.engine import Probe
from composer.runtime.open import ENGINES, open_engine
from composer.store.store import Store

_PROGRAMS = (
    ("pasta", "user-mode network of sandboxes", "passt"),
    ("slirp4netns", "user-mode network of sandboxes, the older way", "slirp4netns"),
    ("strace", "one gate of `composer env verify`", "strace"),
    ("micromamba", "another solver; py-rattler is there without it", None),
    ("dpkg-deb", "the local channel, where conda-forge cannot be reached", "dpkg"),
)


def doctor(as_json: Json = False) -> int:
    """Probe engines and programs; the exit status is 69 when no engine works."""
    probes = asyncio.run(_probe())
    programs = [Probe(name, shutil.which(name) is not None, purpose, package) for name, purpose, package in _PROGRAMS]
    works = any(probe.works for probe in probes)
    if as_json:
        emit({"engines": [asdict(p) for p in probes], "programs": [asdict(p) for p in programs], "ok": works})
        return 0 if works else 69
    rows = [
        (p.name, "ok" if p.works else "no", p.detail, "" if p.works else p.package or "") for p in [*probes, *programs]
    ]
    table(("WHAT", "WORKS", "DETAIL", "INSTALL"), rows)
    say(
        "sandboxes can be started here"
        if works
        else "no engine works here: install runc or bubblewrap, or start Docker"
    )
    return 0 if works else 69


async def _probe() -> list[Probe]:
    store = Store.open()
    return [probe for name in ENGINES for probe in await open_engine(name, store).probe()]
