"""What a person or a program sees: progress on a terminal, plain lines elsewhere, one JSON document with ``--json``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from composer.errors import ComposerError
from composer.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_PLAIN_AFTER = 1.0


def emit(document: Any) -> None:
    """Print the one JSON document of a ``--json`` call."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Print a line of a command's result."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def notice(text: str) -> None:
    """Print a line that is not part of the result, to stderr."""
    sys.stderr.write(f"composer: {text}\n")
    sys.stderr.flush()


def failure(error: ComposerError, *, as_json: bool) -> None:
    """Print an error: the JSON document with ``--json``, one line on stderr in any case."""
    if as_json:
        emit({"error": error.as_json()})
    notice("error: " + " ".join(str(error).split()))


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print columns as wide as they need; the last is not padded."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def size(count: float) -> str:
    """A number of bytes for people, in powers of 1000 as registries count."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress callback: bars on a terminal; elsewhere a line for each step that takes over a second; or nothing."""
    if quiet:
        yield lambda _what, _done, _total: None
    elif sys.stderr.isatty():
        with _bars() as callback:
            yield callback
    else:
        yield _Lines()


class _Lines:
    """Plain lines for logs: a step is named once, when it has gone on for a second."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._named: set[str] = set()

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        began = self._began.setdefault(what, now)
        if what in self._named:
            if total and done >= total:
                notice(f"{what}: done, {now - began:.1f} s")
                self._named.discard(what)
        elif now - began >= _PLAIN_AFTER:
            self._named.add(what)
            notice(f"{what} ...")


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _Bars(bars)


class _Bars:
    """One bar for each step, on a terminal."""

    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total or None)
        self._bars.update(self._tasks[what], completed=done, total=total or None)
