#!/usr/bin/env python3
"""``python -m tools.channel --out DIR``: make a local conda channel; exit statuses as in composer/errors.py."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

if __package__ in {None, ""}:  # started as a file: the project is two levels up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from composer.errors import ComposerError
from tools.channel.build import Request, Result, build
from tools.channel.recipes import GLIBC_SUITES, GROUPS


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status, 130 after Ctrl-C."""
    options = parse(arguments)
    glibc = tuple(GLIBC_SUITES) if options.glibc == "both" else (options.glibc,)
    request = Request(
        glibc, options.format, tuple(group for group in GROUPS if group == "core" or group in options.group)
    )
    try:
        result = build(request, options.out, options.cache or default_cache(), report, refresh=options.refresh)
    except ComposerError as error:
        if options.json:
            print(json.dumps({"error": error.as_json()}))
        print(f"channel: error: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    print(json.dumps(as_json(result)) if options.json else summary(result))
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line; a wrong one exits with status 2."""
    parser = argparse.ArgumentParser(prog="python -m tools.channel", description="Make a local conda channel.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the channel's directory")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="downloads, kept by sha256 (default: below ~/.cache)")
    parser.add_argument(
        "--glibc", choices=[*GLIBC_SUITES, "both"], default="both", help="which sysroots (default: both)"
    )
    parser.add_argument("--format", choices=["conda", "bz2"], default="conda", help="of the package files")
    parser.add_argument("--group", action="append", default=[], choices=GROUPS, help="packages beside core")
    parser.add_argument("--refresh", action="store_true", help="take the mirror's newest Debian packages")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    return parser.parse_args(arguments)


def default_cache() -> Path:
    """``composer-channel`` in the user's cache directory (XDG Base Directory Specification)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "composer-channel"


def report(line: str) -> None:
    """Show one line of progress on the standard error stream."""
    print(f"channel: {line}", file=sys.stderr, flush=True)


def as_json(result: Result) -> dict[str, object]:
    """The result for programs; ``seconds`` of wall clock."""
    return {
        "channel": result.directory.as_uri(),
        "inputs": f"sha256:{result.inputs}",
        "packages": result.packages,
        "unchanged": result.unchanged,
        "seconds": round(result.seconds, 3),
    }


def summary(result: Result) -> str:
    """The result for people."""
    state = "unchanged" if result.unchanged else f"made in {result.seconds:.1f} s"
    return f"{result.directory.as_uri()} ({result.packages} packages, {state})"


if __name__ == "__main__":
    sys.exit(main())
