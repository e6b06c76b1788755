"""The options of commands that start a sandbox, in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from composer.cli import options
from composer.client.start import StartOptions
from composer.errors import UsageError


def start_options(
    env: options.Env = "core",
    engine: options.Engine = "oci",
    channel: options.Channel = None,
    variables: options.Variables = None,
    user: options.User = None,
    network: options.NetworkOption = "none",
    read_only: options.ReadOnly = False,
    new_privileges: options.NewPrivileges = False,
    memory: options.Memory = None,
    cpus: options.Cpus = None,
    pids: options.Pids = None,
    best_effort: options.BestEffort = False,
) -> StartOptions:
    """How to start, from the command line's words; raises `UsageError`."""
    if engine not in ("oci", "docker"):
        raise UsageError(f"--engine {engine}", "is not an engine", "use oci or docker")
    return StartOptions(
        env=options.parse_env(env),
        engine=engine,
        channels=tuple(channel or ()),
        variables=options.parse_variables(variables),
        user=user,
        network=options.parse_network(network),
        read_only=read_only,
        no_new_privileges=not new_privileges,
        limits=options.parse_limits(memory, cpus, pids, best_effort=best_effort),
    )


def with_start_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that takes the options of `start_options` beside its own, and gets their result as ``start``."""
    shared = inspect.signature(start_options).parameters
    own = {name: p for name, p in inspect.signature(command).parameters.items() if name != "start"}

    def run(**given: Any) -> Any:
        start = start_options(**{name: given.pop(name) for name in shared})
        return command(start=start, **given)

    hints = {**get_type_hints(start_options, include_extras=True), **get_type_hints(command, include_extras=True)}
    parameters = [p.replace(annotation=hints[name], kind=p.KEYWORD_ONLY) for name, p in {**own, **shared}.items()]
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run
