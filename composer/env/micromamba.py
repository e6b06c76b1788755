"""Solving with the program micromamba (``create --dry-run --json``; libmamba's transaction as JSON)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from composer.env.channel import unreachable
from composer.env.solve import Request, Solved
from composer.errors import ComposerError, UnsolvableError

_LIMIT = 300.0
_NETWORK = ("Could not resolve", "Could not connect", "Download error", "Couldn't connect", "timed out", "CURL error")


def ask(request: Request) -> Sequence[Solved]:
    """Answer ``request``; raises `ChannelError` and `UnsolvableError`."""
    program = shutil.which("micromamba")
    if program is None:
        raise UnsolvableError("micromamba", "is not on PATH", "install it, or use --solver rattler")
    with tempfile.TemporaryDirectory(prefix="composer-micromamba-") as root:
        done = subprocess.run(
            [*_command(program, root), *_channels(request), "--platform", request.subdir, *request.specs],
            env=_environment(request),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT,
            check=False,
        )
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = {}
    if done.returncode or not document.get("success"):
        raise _mapped(document, done.stderr.decode(errors="replace"), request)
    return [_solved(row) for row in document.get("actions", {}).get("LINK", [])]


def _command(program: str, root: str) -> list[str]:
    return [program, "create", "--dry-run", "--json", "--yes", "--no-rc", "--root-prefix", root, "--name", "solve"]


def _channels(request: Request) -> list[str]:
    return ["--override-channels", *(part for channel in request.channels for part in ("--channel", channel))]


def _environment(request: Request) -> dict[str, str]:
    """CONDA_OVERRIDE_* replace what libmamba would detect of this machine."""
    override = {
        f"CONDA_OVERRIDE_{name.strip('_').upper()}": build if name == "__archspec" else version
        for name, (version, build) in request.virtual.items()
    }
    return {**os.environ, **override, "CONDA_OVERRIDE_CUDA": "", "CONDA_PKGS_DIRS": str(request.cache / "micromamba")}


def _solved(row: dict[str, Any]) -> Solved:
    return Solved(
        name=str(row["name"]),
        version=str(row["version"]),
        url=str(row["url"]),
        sha256=str(row.get("sha256", "")),
        md5=str(row.get("md5", "")),
        depends=tuple(row.get("depends", ())),
    )


def _mapped(document: dict[str, Any], stderr: str, request: Request) -> ComposerError:
    text = " ".join((str(document.get("solver_problems") or "") or stderr).split()) or "no answer"
    if any(mark in text for mark in _NETWORK):
        return unreachable(request.channels[0], text[-200:])
    return UnsolvableError(", ".join(request.channels), text[-400:], "change the spec or add a channel")
