"""JSON and times exactly as Go's encoding/json and BuildKit's exporter write them (design: digest parity rules 1-3)."""

from __future__ import annotations

import json
import re
from typing import Any

from composer.errors import ArchiveError

LIMIT = 4 << 20
"""Bytes of a manifest, index or config (the distribution specification asks registries for 4 MiB)."""

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def compact(value: Any) -> bytes:
    """``json.Marshal``: no spaces, raw UTF-8; the order of keys is the caller's."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.translate(_ESCAPES).encode("utf-8", "replace")


def indented(value: Any) -> bytes:
    """``json.MarshalIndent`` by two spaces, without a final newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.translate(_ESCAPES).encode("utf-8", "replace")


def time(text: str, source: str) -> str:
    """A time as Go prints it back: no trailing zeros in the fraction, Z for +00:00; raises `ArchiveError`."""
    match = _TIME.fullmatch(text)
    if not match:
        raise ArchiveError(source, f"{text!r} is not an RFC 3339 time", "correct it")
    fraction = (match[2] or "")[:10].rstrip("0").rstrip(".")
    return match[1] + fraction + ("Z" if match[3] in ("+00:00", "-00:00") else match[3])


def load(data: bytes, source: str, limit: int = LIMIT) -> dict[str, Any]:
    """A JSON object of at most ``limit`` bytes; raises `ArchiveError` naming ``source``."""
    if len(data) > limit:
        raise ArchiveError(source, f"has {len(data)} bytes, more than {limit}", "this is no manifest or config")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(source, f"is not JSON ({error})", "get the image again") from error
    if not isinstance(value, dict):
        raise ArchiveError(source, "is not a JSON object", "get the image again")
    return value
