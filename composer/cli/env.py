"""``composer lock`` and ``composer env``: build, verify, list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from composer.build import BuildRequest, runtime_layers
from composer.cli.options import Channel, Json, PlatformOption, parse_env, parse_platform
from composer.cli.render import emit, progress, say, size, table
from composer.env.solve import SolverName
from composer.errors import UsageError, VerifyError
from composer.store.store import Store

Specs = Annotated[str, typer.Argument(help="Environment specs, by name or path, separated by commas.")]


def application() -> typer.Typer:
    """Make the group ``composer env``."""
    app = typer.Typer(help="Make and check runtime environments.", no_args_is_help=True, rich_markup_mode=None)
    app.command("build")(build)
    app.command("verify")(verify)
    app.command("ls")(ls)
    return app


def lock(
    env: Specs = "core",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: conda-lock.yml beside the spec.")
    ] = None,
    channel: Channel = None,
    platform: PlatformOption = None,
    solver: Annotated[str, typer.Option("--solver", help="auto, rattler or micromamba.")] = "auto",
    as_json: Json = False,
) -> None:
    """Solve a spec and write its conda-lock.yml (format 1)."""
    if solver not in get_args(SolverName):
        raise UsageError(f"--solver {solver}", "is not a solver", f"use {', '.join(get_args(SolverName))}")
    from composer.env import builtin
    from composer.env.resolve import save, solve_specs

    names = parse_env(env)
    wanted = (parse_platform(platform),) if platform else ()
    with progress(quiet=as_json) as report:
        made = solve_specs(names, tuple(channel or ()), wanted, Store.open(), report, cast(SolverName, solver))
    target = output or builtin.find(names[-1]).with_name("conda-lock.yml")
    save(made, target)
    if as_json:
        emit({"file": str(target), "platforms": list(made.targets), "packages": len(made.packages)})
    else:
        say(f"{target}: {len(made.packages)} packages for {', '.join(made.targets)}")


def build(env: Specs = "core", channel: Channel = None, platform: PlatformOption = None, as_json: Json = False) -> None:
    """Make the layers of an env and of the agent, without a base."""
    from composer.env.resolve import resolve_lock

    store, subject = Store.open(), parse_platform(platform)
    request = BuildRequest("scratch", env=parse_env(env), platform=subject, channels=tuple(channel or ()))
    with progress(quiet=as_json) as report:
        made = resolve_lock(request.env, request.channels, subject, store, report)
        runtime, reused = runtime_layers(request, made, store, report)
    rows = [
        {"digest": str(x.descriptor.digest), "diff_id": str(x.diff_id), "size": x.descriptor.size, "role": x.role,
         "unpacked_size": x.unpacked_size, "packages": list(x.packages)}
        for x in runtime.all
    ]  # fmt: skip
    if as_json:
        emit({"lock_digest": str(runtime.lock_digest), "reused": reused, "layers": rows})
        return
    table(
        ("LAYER", "SIZE", "UNPACKED", "ROLE", "CONTENT"),
        [
            (x.descriptor.digest.short, size(x.descriptor.size), size(x.unpacked_size), x.role, ", ".join(x.packages))
            for x in runtime.all
        ],
    )
    total = sum(x.descriptor.size for x in runtime.all)
    say(f"lock {runtime.lock_digest}, {size(total)} compressed{', made before' if reused else ''}")


def verify(
    env: Specs = "core", channel: Channel = None, platform: PlatformOption = None, as_json: Json = False
) -> None:
    """Run the gates on an env: nothing of a base is opened, every ELF file resolves inside the prefix, and so on."""
    from composer.env.build import build_env
    from composer.env.resolve import resolve_lock
    from composer.env.verify import verify_env

    store, subject = Store.open(), parse_platform(platform)
    with progress(quiet=as_json) as report:
        made = resolve_lock(parse_env(env), tuple(channel or ()), subject, store, report)
        with build_env(made, subject, store, progress=report) as built:
            gates = verify_env(built)
    if as_json:
        emit([{"name": gate.name, "passed": gate.passed, "detail": gate.detail} for gate in gates])
    else:
        table(("GATE", "PASSED", "DETAIL"), [(g.name, "yes" if g.passed else "NO", g.detail) for g in gates])
    failed = [gate.name for gate in gates if not gate.passed]
    if failed:
        raise VerifyError(env, f"these gates fail: {', '.join(failed)}", "see the details of each above")


def ls(as_json: Json = False) -> None:
    """List the envs of the local store."""
    from composer.layers.record import env_records

    rows = env_records(Store.open())
    if as_json:
        emit([json.loads(row.as_json()) for row in rows])
    else:
        table(
            ("KEY", "PLATFORM", "LAYERS", "SIZE", "LOCK"),
            [
                (row.key[:12], str(row.platform), str(len(row.layers)),
                 size(sum(layer.descriptor.size for layer in row.layers)), row.lock_digest.short)
                for row in rows
            ],
        )  # fmt: skip
