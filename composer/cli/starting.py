"""The options of commands that start a sandbox, in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from composer.cli import options
from composer.errors import UsageError

if TYPE_CHECKING:
    from composer.client.start import StartOptions


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
    from composer.client.start import StartOptions

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
    shared = inspect.signature(start_options, eval_str=False).parameters
    hints = inspect.get_annotations(start_options, eval_str=False)
    own = [p for name, p in inspect.signature(command).parameters.items() if name != "start"]

    def run(**given: Any) -> Any:
        start = start_options(**{name: given.pop(name) for name in shared})
        return command(start=start, **given)

    run.__doc__, run.__name__ = command.__doc__, command.__name__
    words = {**{p.name: p.annotation for p in own}, **{name: hints[name] for name in shared}}
    resolved = {name: _resolved(word, command) for name, word in words.items()}
    run.__annotations__ = resolved
    parameters = [p.replace(annotation=resolved[p.name], kind=p.KEYWORD_ONLY) for p in (*own, *shared.values())]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _resolved(annotation: Any, command: Callable[..., Any]) -> Any:
    """The type that an annotation's words mean, where they were written."""
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, {**globals(), **command.__globals__})  # the words are our own
