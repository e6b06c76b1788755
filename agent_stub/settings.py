"""The agent's command line and control directory. Neither argparse nor pathlib: they would cost 9 ms of its start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

CONTROL = "/.oc/run"
TOKEN_BYTES_MOST = 4096
USAGE = "usage: agent [--control DIR] [--bind ENDPOINT]... [--token-file FILE | --token-fd N]"


class SettingsError(Exception):
    """The agent cannot start as it was told to."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the agent listens, and where it reads its token."""

    control: str = CONTROL
    bind: tuple[str, ...] = ()
    token_file: str | None = None
    token_fd: int | None = None


@dataclass(slots=True)
class _Given:
    control: list[str] = field(default_factory=list)
    bind: list[str] = field(default_factory=list)
    token_file: list[str] = field(default_factory=list)
    token_fd: list[str] = field(default_factory=list)


def parse_argv(argv: Sequence[str]) -> Settings:
    """Settings of a command line; raises `SettingsError`."""
    given, words = _Given(), list(argv)
    while words:
        name, equals, value = words.pop(0).partition("=")
        values = getattr(given, name[2:].replace("-", "_"), None) if name.startswith("--") else None
        if values is None:
            raise SettingsError(f"unknown argument {name!r}; {USAGE}")
        if not equals:
            if not words:
                raise SettingsError(f"{name} needs a value; {USAGE}")
            value = words.pop(0)
        values.append(value)
    if given.token_fd and not given.token_fd[-1].isdecimal():
        raise SettingsError(f"--token-fd {given.token_fd[-1]!r} is not a number")
    return Settings(
        control=given.control[-1] if given.control else CONTROL,
        bind=tuple(given.bind),
        token_file=given.token_file[-1] if given.token_file else None,
        token_fd=int(given.token_fd[-1]) if given.token_fd else None,
    )


def read_token(settings: Settings) -> bytes | None:
    """The token, or None when there is no source of one; the file in the control directory is removed after reading.

    Raises `SettingsError` for a token that cannot be read or is shorter than 16 bytes.
    """
    if settings.token_fd is not None:
        return _checked(_read_descriptor(settings.token_fd), f"descriptor {settings.token_fd}")
    path = settings.token_file or f"{settings.control}/token"
    try:
        with open(path, "rb") as file:
            text = file.read(TOKEN_BYTES_MOST)
    except FileNotFoundError:
        if settings.token_file:
            raise SettingsError(f"{path}: no such token file") from None
        return None
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    if not settings.token_file:
        try:
            os.unlink(path)
        except OSError:  # a read-only mount: the engine's own permissions guard it
            pass
    return _checked(text, path)


def endpoints(settings: Settings, token: bytes | None) -> list[str]:
    """What to bind; raises `SettingsError` when there is nothing, or TCP without a token."""
    found = []
    if os.access(settings.control, os.W_OK | os.X_OK):
        found.append(f"ipc://{settings.control}/agent.sock")
    elif not settings.bind:
        raise SettingsError(
            f"{settings.control}: not a writable directory; mount one there, or give --control DIR or --bind ENDPOINT"
        )
    if token is None:
        for endpoint in settings.bind:
            if not endpoint.startswith("ipc://"):
                raise SettingsError(f"{endpoint}: needs a token; put one into {settings.control}/token")
    return found + list(settings.bind)


def _read_descriptor(descriptor: int) -> bytes:
    try:
        with open(descriptor, "rb") as file:
            return file.read(TOKEN_BYTES_MOST)
    except OSError as error:
        raise SettingsError(f"descriptor {descriptor}: {error.strerror}") from None


def _checked(text: bytes, source: str) -> bytes:
    token = text.strip()
    if len(token) < 16:
        raise SettingsError(f"{source}: a token has at least 16 bytes, this one {len(token)}")
    return token
