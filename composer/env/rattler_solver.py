"""Solving with py-rattler."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from datetime import timedelta

from composer.env.channel import unreachable
from composer.env.solve import Request, Solved
from composer.errors import ComposerError, SpecError, UnsolvableError

_LIMIT = timedelta(minutes=2)


def ask(request: Request) -> Sequence[Solved]:
    """Answer ``request``; raises `ChannelError`, `SpecError` and `UnsolvableError`."""
    from rattler.exceptions import (
        GatewayError,
        InvalidChannelError,
        InvalidMatchSpecError,
        InvalidVersionSpecError,
        SolverError,
    )

    foreign = (GatewayError, InvalidChannelError, InvalidMatchSpecError, InvalidVersionSpecError, SolverError)
    try:
        return asyncio.run(_ask(request))
    except foreign as error:
        raise _mapped(error, request) from error


async def _ask(request: Request) -> list[Solved]:
    import rattler

    virtual = [
        rattler.GenericVirtualPackage(
            rattler.PackageName(name), rattler.Version(version), rattler.package.BuildString(build)
        )
        for name, (version, build) in request.virtual.items()
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a channel's own remarks about its neighbours
        records = await rattler.solve(
            [rattler.Channel(channel) for channel in request.channels],
            list(request.specs),
            gateway=rattler.Gateway(cache_dir=request.cache),
            platforms=[rattler.Subdir(request.subdir), rattler.Subdir("noarch")],
            virtual_packages=virtual,
            timeout=_LIMIT,
        )
    return [
        Solved(
            name=record.name.normalized,
            version=str(record.version),
            url=record.url,
            sha256=record.sha256.hex() if record.sha256 else "",
            md5=record.md5.hex() if record.md5 else "",
            depends=tuple(record.depends),
        )
        for record in records
    ]


def _mapped(error: Exception, request: Request) -> ComposerError:
    from rattler.exceptions import GatewayError, SolverError

    lines = [line.removeprefix("Caused by:").strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, GatewayError):
        return unreachable(_guilty(str(error), request.channels), lines[-1])
    if isinstance(error, SolverError):
        cause = " ".join(lines).removeprefix("Cannot solve the request because of: ")
        return UnsolvableError(", ".join(request.channels), cause, "change the spec or add a channel")
    return SpecError(", ".join(request.specs), lines[0], "write match specs like `python 3.11.*`")


def _guilty(text: str, channels: Sequence[str]) -> str:
    """The channel that the solver's message speaks of: by URL, or by the last part of it for a name."""
    named = (c for c in channels if c in text or f"/{c.rsplit('/', 1)[-1]}/" in text)
    return next(named, channels[0])
