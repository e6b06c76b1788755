"""Bodies as frozen dataclasses: one source that validates messages and from which the reference is generated.

A field is made by `entry`, which carries its documentation and bounds. Types are limited to what msgpack carries:
``str``, ``bytes``, ``int``, ``float``, ``bool``, ``None``, ``list``, ``dict`` with string keys, ``Literal`` of strings,
unions of these, and other bodies.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar

from agent_stub.wire.errors import WireError

T = TypeVar("T")
Check = Callable[[Any, str], Any]


def entry(doc: str, *, default: Any = dataclasses.MISSING, low: float | None = None, high: float | None = None) -> Any:
    """A documented field; ``low`` and ``high`` bound a number, or the length of a string, bytes, list or dict."""
    metadata = {"doc": doc, "low": low, "high": high}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def parse(cls: type[T], value: Any) -> T:
    """Validate a decoded body; raises `WireError` ``invalid`` naming the field, also an unknown one."""
    if not isinstance(value, Mapping):
        raise WireError("invalid", "the body is not a map")
    checks, required = _checks(cls)  # type: ignore[arg-type]
    given = {}
    for name, item in value.items():
        check = checks.get(name)
        if check is None:
            raise WireError("invalid", f"unknown field {str(name)[:64]!r}")
        given[name] = check(item, name)
    for name in required:
        if name not in given:
            raise WireError("invalid", f"field {name!r} is missing")
    return cls(**given)


def dump(body: Any) -> dict[str, Any]:
    """The map that carries ``body``; fields that have their default are left out."""
    result: dict[str, Any] = {}
    for name, default in _defaults(type(body)):  # type: ignore[arg-type]
        value = getattr(body, name)
        if default is not dataclasses.MISSING and value == default:
            continue
        result[name] = _plain(value)
    return result


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dump(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


@cache
def _defaults(cls: type[Any]) -> tuple[tuple[str, Any], ...]:
    rows = []
    for field in dataclasses.fields(cls):
        made = field.default_factory
        rows.append((field.name, field.default if made is dataclasses.MISSING else made()))
    return tuple(rows)


@cache
def _checks(cls: type[Any]) -> tuple[dict[str, Check], tuple[str, ...]]:
    hints = typing.get_type_hints(cls)
    checks, required = {}, []
    for field in dataclasses.fields(cls):
        check = _check_of(hints[field.name])
        low, high = field.metadata.get("low"), field.metadata.get("high")
        checks[field.name] = check if low is None and high is None else _bounded(check, low, high)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(field.name)
    return checks, tuple(required)


def _bounded(check: Check, low: float | None, high: float | None) -> Check:
    def run(value: Any, name: str) -> Any:
        value = check(value, name)
        if value is not None:
            size = value if isinstance(value, (int, float)) else len(value)
            if (low is not None and size < low) or (high is not None and size > high) or math.isnan(size):
                raise WireError("invalid", f"field {name!r} is out of bounds: {low} to {high}")
        return value

    return run


def _check_of(hint: Any) -> Check:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _one_of(arguments)
    if origin in (typing.Union, types.UnionType):
        return _any_of([_check_of(argument) for argument in arguments])
    if origin is list:
        item = _check_of(arguments[0])
        return lambda value, name: [item(x, name) for x in _instance(value, (list, tuple), name)]
    if origin is dict:
        item = _check_of(arguments[1])
        return lambda value, name: {
            _instance(key, (str,), name): item(x, name) for key, x in _instance(value, (dict,), name).items()
        }
    if hint is Any:
        return lambda value, _name: value
    if hint is float:
        return lambda value, name: float(_instance(value, (int, float), name))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return lambda value, name: value if isinstance(value, hint) else parse(hint, _instance(value, (dict,), name))
    return lambda value, name: _instance(value, (hint,), name)


def _one_of(values: tuple[Any, ...]) -> Check:
    def run(value: Any, name: str) -> Any:
        if isinstance(value, str) and value in values:
            return value
        raise WireError("invalid", f"field {name!r} is not one of {', '.join(map(repr, values))}")

    return run


def _any_of(checks: list[Check]) -> Check:
    def run(value: Any, name: str) -> Any:
        for check in checks[:-1]:
            try:
                return check(value, name)
            except WireError:
                continue
        return checks[-1](value, name)

    return run


def _instance(value: Any, kinds: tuple[type, ...], name: str) -> Any:
    if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
        return value
    wanted = " or ".join("nil" if kind is type(None) else kind.__name__ for kind in kinds)
    raise WireError("invalid", f"field {name!r} is {type(value).__name__}, not {wanted}")
