"""``composer build``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from composer.build import BuildRequest, BuildResult
from composer.build import build as run_build
from composer.cli.options import Channel, Env, Json, PlatformOption, parse_env, parse_platform, parse_variables
from composer.cli.render import emit, progress, say, size, table
from composer.errors import UsageError
from composer.store.store import Store


def build(
    base: Annotated[
        str, typer.Argument(help="oci:DIR, oci-archive:, docker-archive:, docker-daemon:, rootfs:, scratch")
    ],
    name: Annotated[str | None, typer.Option("--tag", "-t", help="What the image is called where it goes.")] = None,
    env: Env = "core",
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="oci:DIR, oci-archive:, docker-archive:, docker-daemon:NAME.")
    ] = None,
    platform: PlatformOption = None,
    channel: Channel = None,
    mode: Annotated[
        str, typer.Option("--mode", help="sidecar: the agent is the entrypoint; passive: it is not.")
    ] = "sidecar",
    label: Annotated[list[str] | None, typer.Option("--label", help="NAME=VALUE; may be repeated.")] = None,
    compression: Annotated[str, typer.Option("--compression", help="gzip or zstd, of the runtime's layers.")] = "gzip",
    as_json: Json = False,
    metadata_file: Annotated[
        Path | None, typer.Option("--metadata-file", help="Write the result there as JSON.")
    ] = None,
) -> None:
    """Compose an image: the base, and the runtime's layers on it."""
    request = BuildRequest(
        base=base,
        env=parse_env(env),
        name=name,
        sink=output,
        platform=parse_platform(platform),
        channels=tuple(channel or ()),
        mode=_one_of("--mode", mode, "sidecar", "passive"),
        labels=parse_variables(label),
        compression=_one_of("--compression", compression, "gzip", "zstd"),
        created=_created(),
    )
    with progress(quiet=as_json) as report:
        result = run_build(request, Store.open(), report)
    document = as_document(result)
    if metadata_file:
        metadata_file.write_text(json.dumps(document, indent=2) + "\n")
    if as_json:
        emit(document)
    else:
        _show(result)


def _one_of(option: str, value: str, *allowed: Any) -> Any:
    if value not in allowed:
        raise UsageError(f"{option} {value}", "is not a choice", f"use {' or '.join(allowed)}")
    return value


def _created() -> str | None:
    """SOURCE_DATE_EPOCH as RFC 3339 (reproducible-builds.org/specs/source-date-epoch), None when it is not set."""
    import os
    from datetime import UTC, datetime

    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return None
    try:
        return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"SOURCE_DATE_EPOCH={epoch}", "is not a number of seconds", "unset it or correct it") from None


def as_document(result: BuildResult) -> dict[str, Any]:
    """The result as ``--json`` and ``--metadata-file`` give it."""
    plan, runtime = result.plan, result.runtime
    ours = {layer.diff_id: layer for layer in runtime.all}
    return {
        "name": result.name,
        "destination": result.written.destination,
        "platform": str(plan.platform),
        "manifest_digest": str(plan.manifest_digest),
        "config_digest": str(plan.config_digest),
        "reused": plan.reused,
        "env_reused": result.env_reused,
        "lock_digest": str(runtime.lock_digest),
        "agent_digest": str(runtime.agent_digest),
        "tags": asdict(plan.tags),
        "layers": [
            {
                "digest": str(blob.descriptor.digest),
                "diff_id": str(blob.diff_id),
                "size": blob.descriptor.size,
                "media_type": blob.descriptor.media_type,
                "origin": blob.origin if blob.diff_id not in ours else ours[blob.diff_id].role,
            }
            for blob in plan.layers
        ],
        "bytes_moved": result.written.bytes_moved,
        "seconds": {step: round(value, 4) for step, value in result.seconds.items()},
    }


def _show(result: BuildResult) -> None:
    plan = result.plan
    ours = {layer.diff_id: layer for layer in result.runtime.all}
    rows = []
    for blob in plan.layers:
        layer = ours.get(blob.diff_id)
        content = ", ".join(layer.packages[:6]) + (" ..." if len(layer.packages) > 6 else "") if layer else ""
        rows.append(
            (blob.descriptor.digest.short, size(blob.descriptor.size), layer.role if layer else "base", content)
        )
    table(("LAYER", "SIZE", "ROLE", "CONTENT"), rows)
    say(f"image     {result.name}")
    say(f"at        {result.written.destination}")
    say(f"manifest  {plan.manifest_digest}")
    say(f"config    {plan.config_digest}")
    steps = ", ".join(f"{step} {value * 1000:.0f} ms" for step, value in result.seconds.items())
    say(f"took      {steps}{'; the base had these layers already' if plan.reused else ''}")
