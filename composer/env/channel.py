"""Which conda channels to ask, and what to say when one does not answer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from composer.env.spec import DEFAULT_CHANNELS, EnvironmentSpec
from composer.errors import ChannelError

VARIABLE = "COMPOSER_CHANNEL"
_WHAT_TO_DO = (
    f"make a local one (`python -m tools.channel --out DIR`) and pass --channel file:///DIR, or set ${VARIABLE}"
)


def choose(
    spec: EnvironmentSpec, options: Sequence[str] = (), environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """The channels to use: the options, else $COMPOSER_CHANNEL (comma separated), else the spec's, else conda-forge.

    Folders become ``file://`` URLs, names stay names.
    """
    variable = [part.strip() for part in environment.get(VARIABLE, "").split(",") if part.strip()]
    return tuple(located(text) for text in (tuple(options) or tuple(variable) or spec.channels or DEFAULT_CHANNELS))


def located(text: str) -> str:
    """A folder (``/a/b``, ``./b``, ``~/b``) as a ``file://`` URL; anything else as it is, without a final slash."""
    if text.startswith(("/", "./", "../", "~/")):
        return Path(text).expanduser().resolve().as_uri()
    return text.rstrip("/") or text


def check(channel: str, subdir: str) -> None:
    """Raise `ChannelError` when a ``file://`` channel has no index for ``subdir`` or ``noarch``."""
    url = urlsplit(channel)
    if url.scheme != "file":
        return
    for part in (subdir, "noarch"):
        if not (Path(url.path) / part / "repodata.json").is_file():
            raise unreachable(channel, f"there is no {part}/repodata.json")


def unreachable(channel: str, cause: str) -> ChannelError:
    """The one-line error for a channel that cannot be asked."""
    return ChannelError(redacted(channel), f"the channel cannot be reached ({cause})", _WHAT_TO_DO)


def redacted(url: str) -> str:
    """``url`` without user, password and conda token (``/t/TOKEN/``)."""
    parts = urlsplit(url)
    if not parts.scheme:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, re.sub(r"/t/[^/]+", "/t/***", parts.path), "", ""))
