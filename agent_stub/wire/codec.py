"""Frames to messages and back: ``[header, body, *raw]``, each of the first two a msgpack map.

Strings that are not UTF-8 (names of files, arguments, variables of POSIX systems) travel as msgpack strings with their
original bytes, which the msgpack specification allows; in Python they hold surrogate escapes (PEP 383).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from agent_stub.wire.errors import WireError
from agent_stub.wire.header import ID_BYTES, Header
from agent_stub.wire.limits import Limits


@dataclass(frozen=True, slots=True)
class Message:
    """A decoded message; ``body`` is unchecked but for its sizes."""

    header: Header
    body: dict[str, Any]
    raw: tuple[bytes, ...] = ()


class FrameError(WireError):
    """A message that cannot be decoded; ``id`` is its request's when that much could be read."""

    def __init__(self, cause: WireError, request: bytes | None) -> None:
        super().__init__(cause.code, cause.message, cause.errno)
        self.id = request


class Codec:
    """Encodes and decodes messages within ``limits``; not for use by several threads."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._pack = msgpack.Packer(unicode_errors="surrogateescape").pack

    def encode(self, header: Header, body: dict[str, Any], raw: Sequence[bytes] = ()) -> list[bytes]:
        """The frames of a message; raises ``TypeError``, ``ValueError`` or ``OverflowError`` for what msgpack lacks."""
        return [self._pack(header.as_map()), self._pack(body), *raw]

    def decode(self, frames: Sequence[bytes]) -> Message:
        """The message in ``frames``; raises `FrameError` (``malformed``, ``version`` or ``limit``)."""
        if len(frames) < 2:
            raise FrameError(WireError("malformed", "a message has a header frame and a body frame"), None)
        if len(frames[0]) > self.limits.header:
            raise FrameError(WireError("malformed", f"the header is over {self.limits.header} bytes"), None)
        try:
            fields = self._unpack(frames[0])
        except WireError as error:
            raise FrameError(error, None) from None
        try:
            header = Header.from_map(fields)
            self._check_sizes(frames)
            body = self._unpack(frames[1])
            if not isinstance(body, dict):
                raise WireError("malformed", "the body is not a map")
            self._check_depth(body)
        except WireError as error:
            raise FrameError(error, _id_in(fields)) from None
        return Message(header, body, tuple(frames[2:]))

    def _unpack(self, frame: bytes) -> Any:
        items = self.limits.items
        try:
            return msgpack.unpackb(
                frame,
                unicode_errors="surrogateescape",
                max_array_len=items,
                max_map_len=items,
                max_ext_len=0,
            )
        # StackError and FormatError are ValueErrors; an extension type or a map key of another type too.
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
            raise WireError("malformed", f"not msgpack within the limits: {str(error)[:120]}") from None

    def _check_sizes(self, frames: Sequence[bytes]) -> None:
        limits = self.limits
        if len(frames) > limits.frames:
            raise WireError("limit", f"{len(frames)} frames, more than {limits.frames}")
        total = 0
        for frame in frames:
            size = len(frame)
            if size > limits.frame:
                raise WireError("limit", f"a frame of {size} bytes, more than {limits.frame}")
            total += size
        if total > limits.message:
            raise WireError("limit", f"a message of {total} bytes, more than {limits.message}")

    def _check_depth(self, body: dict[str, Any]) -> None:
        level: list[Any] = [body]
        for _ in range(self.limits.depth):
            below: list[Any] = []
            for item in level:
                values = item.values() if type(item) is dict else item
                below.extend(value for value in values if type(value) in (dict, list))
            if not below:
                return
            level = below
        raise WireError("malformed", f"the body is nested deeper than {self.limits.depth}")


def wide(limits: Limits) -> Limits:
    """Limits for what comes from an agent that has proved itself: replies may be as large as they were asked to be."""
    top = 1 << 40
    return replace(limits, frame=top, message=top, transport=-1, frames=1 << 16, items=10_000_000)


def _id_in(fields: Any) -> bytes | None:
    request = fields.get("id") if isinstance(fields, dict) else None
    return request if isinstance(request, bytes) and len(request) == ID_BYTES else None
