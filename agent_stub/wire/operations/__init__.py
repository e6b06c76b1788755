"""Typed bodies of every operation: requests, events and replies, and the table of them.

The bodies' modules are imported when one of their operations is first asked for: making dataclasses is a tenth of the
agent's start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from agent_stub.wire.operations.core import Operation

_OUTPUT = {"output": "Output"}
# operation: (module, request, reply, events)
_TABLE: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "hello": ("core", "Hello", "HelloReply", {}),
    "shutdown": ("core", "Shutdown", "Empty", {}),
    "session.open": ("session", "SessionOpen", "SessionOpened", {}),
    "session.close": ("session", "SessionClose", "Empty", {}),
    "session.input": ("session", "Input", "Empty", {}),
    "run": ("session", "Run", "RunReply", _OUTPUT),
    "exec": ("session", "Exec", "ExecReply", _OUTPUT),
    "file.read": ("file", "FileRead", "FileReadReply", {"data": "FileData"}),
    "file.write": ("file", "FileWrite", "FileWriteReply", {}),
    "file.stat": ("file", "FileStat", "FileInfo", {}),
    "file.list": ("file", "FileList", "FileListReply", {}),
    "file.remove": ("file", "FileRemove", "Empty", {}),
    "file.move": ("file", "FileMove", "Empty", {}),
    "file.mkdir": ("file", "FileMakeDirectory", "Empty", {}),
}


class Operations(Mapping[str, Operation]):
    """The built-in operations by name."""

    def __init__(self) -> None:
        self._made: dict[str, Operation] = {}

    def __getitem__(self, name: str) -> Operation:
        made = self._made.get(name)
        if made is None:
            module_name, request, reply, events = _TABLE[name]
            core = import_module("agent_stub.wire.operations.core")
            module = import_module(f"agent_stub.wire.operations.{module_name}")
            made = self._made[name] = Operation(
                name,
                getattr(module, request),
                getattr(core if reply == "Empty" else module, reply),
                tuple((event, getattr(module, body)) for event, body in events.items()),
            )
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(_TABLE)

    def __len__(self) -> int:
        return len(_TABLE)
