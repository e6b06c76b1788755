"""``composer run``: compose when needed, run one bash action, stream its output, exit with its code."""

from __future__ import annotations

import asyncio
import shlex
import sys
from typing import Annotated

import typer

from composer.cli import options
from composer.cli.render import emit, progress
from composer.cli.starting import with_start_options
from composer.client.start import StartOptions

TIMED_OUT = 124


@with_start_options
def run(
    start: StartOptions,
    base: Annotated[str, typer.Argument(help="The base, as for build.")],
    command: Annotated[
        list[str], typer.Argument(help="One word is a bash text; several are a command and its arguments.")
    ],
    cwd: Annotated[str | None, typer.Option("--cwd", "-w", help="Where the command runs.")] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds; then the exit status is 124.")] = None,
    as_json: options.Json = False,
) -> int:
    """Run one command in a sandbox made of BASE: composer run BASE -- COMMAND."""
    text = command[0] if len(command) == 1 else shlex.join(command)
    return asyncio.run(_run(base, text, start, cwd, timeout, as_json=as_json))


async def _run(
    base: str, text: str, start: StartOptions, cwd: str | None, timeout: float | None, *, as_json: bool
) -> int:
    from composer.client.sandbox import Sandbox

    def show(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    with progress(quiet=as_json) as report:
        box = await Sandbox.start(base, options=start, progress=report)
    async with box:
        result = await box.run(text, cwd=cwd, timeout=timeout, on_output=None if as_json else show)
    if as_json:
        emit(
            {
                "output": result.output,
                "exit_code": result.exit_code,
                "cwd": result.cwd,
                "duration": result.duration,
                "timed_out": result.timed_out,
                "omitted": result.omitted,
            }
        )
    if result.timed_out:
        return TIMED_OUT
    return result.exit_code if result.exit_code is not None else 128 + (result.signal or 0)
