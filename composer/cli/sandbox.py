"""Sandboxes that stay: ``composer up``, ``ls``, ``call``, ``logs``, ``down``."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import time
from typing import Annotated, Any

import typer

from composer.cli import options
from composer.cli.render import emit, progress, say, table
from composer.cli.starting import with_start_options
from composer.client.start import StartOptions
from composer.errors import SandboxNotFoundError, UsageError
from composer.runtime.engine import Engine, SandboxInfo
from composer.runtime.open import ENGINES, open_engine
from composer.store.store import Store

Name = Annotated[str, typer.Argument(help="The sandbox's name.")]


@with_start_options
def up(
    start: StartOptions,
    base: Annotated[str, typer.Argument(help="The base, as for build.")],
    name: Annotated[str | None, typer.Option("--name", help="Its name; one is made up when left out.")] = None,
    as_json: options.Json = False,
) -> None:
    """Start a sandbox that stays until `composer down`."""
    asyncio.run(_up(base, name, start, as_json=as_json))


async def _up(base: str, name: str | None, start: StartOptions, *, as_json: bool) -> None:
    from composer.client.sandbox import Sandbox

    with progress(quiet=as_json) as report:
        box = await Sandbox.start(base, name=name, options=start, owned=False, progress=report)
    running = box.running
    await box.disconnect()
    if as_json:
        emit({"name": running.name, "engine": running.engine, "endpoint": running.endpoint})
    else:
        say(running.name)


def ls(as_json: options.Json = False) -> None:
    """List sandboxes."""
    rows = asyncio.run(_sandboxes())
    if as_json:
        emit(
            [
                {"name": row.name, "engine": row.engine, "state": row.state, "image": row.image, "started": row.started}
                for row in rows
            ]
        )
        return
    now = time.time()
    table(
        ("NAME", "ENGINE", "STATE", "AGE", "IMAGE"),
        [(row.name, row.engine, row.state, f"{max(0, now - row.started):.0f} s", row.image) for row in rows],
    )


async def _sandboxes() -> list[SandboxInfo]:
    store = Store.open()
    return [row for name in ENGINES for row in await open_engine(name, store).sandboxes_if_any()]


async def _engine_of(name: str) -> Engine:
    for row in await _sandboxes():
        if row.name == name:
            return open_engine(row.engine, Store.open())
    raise SandboxNotFoundError(name, "no sandbox has this name", "composer ls shows them")


def call(
    name: Name,
    operation: Annotated[str, typer.Argument(help="As run, exec, file.read; hello lists them.")],
    body: Annotated[str, typer.Argument(help="The request's body as JSON, or @FILE, or - for stdin.")] = "{}",
) -> None:
    """Send one request to a sandbox's agent and print its reply as JSON."""
    asyncio.run(_call(name, operation, _body(body)))


def _body(text: str) -> dict[str, Any]:
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:  # noqa: PTH123 - the name is the user's, as written
                text = file.read()
        except OSError as error:
            raise UsageError(text[1:], error.strerror or "cannot be read", "name a file with a JSON object") from error
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError("the body", f"is not JSON: {error}", 'write it like \'{"command": "id"}\'') from error
    if not isinstance(value, dict):
        raise UsageError("the body", "is not a JSON object", 'write it like \'{"command": "id"}\'')
    return value


async def _call(name: str, operation: str, body: dict[str, Any]) -> None:
    from composer.client.sandbox import Sandbox

    engine = await _engine_of(name)
    async with await Sandbox.attach(engine, name) as box:
        raw = [base64.b64decode(item) for item in body.pop("raw_base64", [])]
        reply = await box.call(operation, body, *raw)
    emit({"reply": _printable(reply.body), "raw": [_printable(bytes(frame)) for frame in reply.raw]})


def _printable(value: Any) -> Any:
    """JSON has no bytes: text where it is UTF-8, base64 in an object where it is not."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {str(key): _printable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printable(item) for item in value]
    return value


def logs(
    name: Name, follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the sandbox ends.")] = False
) -> None:
    """Print what a sandbox's agent wrote to its log."""
    asyncio.run(_logs(name, follow=follow))


async def _logs(name: str, *, follow: bool) -> None:
    engine = await _engine_of(name)
    async for piece in engine.logs(name, follow=follow):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def down(
    names: Annotated[list[str], typer.Argument(help="Names; or --all.")] = [],  # noqa: B006 - typer reads the default
    everything: Annotated[bool, typer.Option("--all", help="All sandboxes of this user.")] = False,
) -> None:
    """End sandboxes and remove every trace of them."""
    if not names and not everything:
        raise UsageError("down", "names no sandbox", "name one, or use --all")
    asyncio.run(_down(names, everything=everything))


async def _down(names: list[str], *, everything: bool) -> None:
    if everything:
        names = [row.name for row in await _sandboxes()]
    for name in names:
        engine = await _engine_of(name)
        await engine.remove(name)
        say(name)
