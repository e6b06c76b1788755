"""The command ``composer``: one module for each group of commands, errors and signals mapped here."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Any

import typer

from composer.cli import build, env, inspect, run, sandbox
from composer.cli.doctor import doctor
from composer.cli.render import failure, notice
from composer.env.leave import leave
from composer.errors import ComposerError, UsageError

INTERRUPTED = 130


def application() -> typer.Typer:
    """Make the command tree."""
    app = typer.Typer(
        name="composer",
        help="Put a complete agent runtime into any container image.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command("build")(build.build)
    app.command("run")(run.run)
    app.command("up")(sandbox.up)
    app.command("ls")(sandbox.ls)
    app.command("call")(sandbox.call)
    app.command("logs")(sandbox.logs)
    app.command("down")(sandbox.down)
    app.command("inspect")(inspect.inspect)
    app.command("lock")(env.lock)
    app.add_typer(env.application(), name="env")
    app.command("doctor")(doctor)
    app.callback(invoke_without_command=True)(_version)
    return app


def _version(version: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"composer {installed('composer')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; the exit status is the command's, or that of the error's class."""
    # A killed pipe or terminal must unwind as Ctrl-C does, so that nothing is left behind.
    signal.signal(signal.SIGTERM, _terminate)
    leave(_status(sys.argv[1:]))


def _terminate(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _status(arguments: list[str]) -> int:
    as_json = "--json" in arguments[: arguments.index("--")] if "--" in arguments else "--json" in arguments
    try:
        result = application()(arguments, standalone_mode=False)
    except ComposerError as error:
        failure(error, as_json=as_json)
        return error.exit_status
    except KeyboardInterrupt:
        notice("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return 128 + signal.SIGPIPE
    except Exception as error:  # noqa: BLE001 - the last border: a fault of ours is reported, never shown raw
        return _unexpected(error, as_json=as_json)
    return result if isinstance(result, int) else 0


def _unexpected(error: Exception, *, as_json: bool) -> int:
    """Usage errors of the parser, aborts, and faults of our own."""
    show, status = getattr(error, "format_message", None), getattr(error, "exit_code", None)
    if show is not None:  # the parser's own errors: a usage error
        usage = UsageError("arguments", str(show()), "see --help")
        failure(usage, as_json=as_json)
        return usage.exit_status
    if isinstance(status, int):  # typer.Exit, typer.Abort
        return status
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    fault = ComposerError(
        type(error).__name__,
        str(error) or "no message",
        "this is a fault of composer: report it, with what COMPOSER_TRACEBACK=1 prints",
    )
    failure(fault, as_json=as_json)
    if os.environ.get("COMPOSER_TRACEBACK"):
        traceback.print_exception(error, file=sys.stderr)
    return fault.exit_status
