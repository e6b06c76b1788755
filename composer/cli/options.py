"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from composer.errors import UsageError
from composer.oci.platform import Platform
from composer.runtime.engine import Limits, Network

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Env = Annotated[str, typer.Option("--env", help="Environment specs, by name or path, separated by commas.")]
Channel = Annotated[
    list[str] | None, typer.Option("--channel", "-c", help="A conda channel instead of the spec's; may be repeated.")
]
PlatformOption = Annotated[str | None, typer.Option("--platform", help="As linux/amd64; this machine's when left out.")]
Engine = Annotated[str, typer.Option("--engine", help="oci (embedded, no daemon) or docker.")]
Memory = Annotated[str | None, typer.Option("--memory", help="Limit of memory, as 512M or 2G.")]
Cpus = Annotated[float | None, typer.Option("--cpus", help="Limit of CPUs, as 1.5.")]
Pids = Annotated[int | None, typer.Option("--pids", help="Limit of processes.")]
BestEffort = Annotated[bool, typer.Option("--best-effort-limits", help="Start even where a limit cannot be applied.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="name, uid or uid:gid instead of the image's.")]
NetworkOption = Annotated[str, typer.Option("--network", help="none, host or user.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="A read-only root file system.")]
NewPrivileges = Annotated[bool, typer.Option("--new-privileges", help="Allow sudo and setuid programs.")]
Variables = Annotated[
    list[str] | None, typer.Option("--set", "-e", help="NAME=VALUE for the sandbox; may be repeated.")
]

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_platform(text: str | None) -> Platform:
    """The platform named, or this machine's."""
    return Platform.parse(text) if text else Platform.host()


def parse_env(text: str) -> tuple[str, ...]:
    """The environment specs named."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise UsageError("--env", "names no environment", "write --env core")
    return names


def parse_limits(memory: str | None, cpus: float | None, pids: int | None, *, best_effort: bool) -> Limits:
    """The limits asked for; raises `UsageError`."""
    if cpus is not None and cpus <= 0:
        raise UsageError(f"--cpus {cpus}", "is not above zero", "write it like --cpus 1.5")
    if pids is not None and pids <= 0:
        raise UsageError(f"--pids {pids}", "is not above zero", "write it like --pids 256")
    return Limits(None if memory is None else parse_size(memory), cpus, pids, best_effort)


def parse_size(text: str) -> int:
    """Bytes from ``512M``, ``2g``, ``1048576``; raises `UsageError`."""
    number = text.lower().removesuffix("b").removesuffix("i")
    unit = number[-1:] if number[-1:] in ("k", "m", "g") else ""
    try:
        size = int(float(number.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise UsageError(text, "is not a size", "write it like 512M or 2G")
    return size


def parse_network(text: str) -> Network:
    """The kind of network named; raises `UsageError`."""
    kinds: dict[str, Literal["none", "host", "user", "bridge"]] = {
        "none": "none",
        "host": "host",
        "user": "user",
        "bridge": "bridge",
    }
    if text not in kinds:
        raise UsageError(f"--network {text}", "is not a kind of network", "use none, host, user or bridge")
    return kinds[text]


def parse_variables(pairs: list[str] | None) -> dict[str, str]:
    """NAME=VALUE pairs as a dictionary; raises `UsageError`."""
    result = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {pair}", "is not NAME=VALUE", "write it like --set LANG=C.UTF-8")
        result[name] = value
    return result
