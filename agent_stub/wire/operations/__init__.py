"""Typed bodies of every operation: requests, events and replies, and the table of them."""

from __future__ import annotations

from agent_stub.wire.operations import core, file, session
from agent_stub.wire.operations.core import Operation

_OUTPUT = (("output", session.Output),)

OPERATIONS: tuple[Operation, ...] = (
    Operation("hello", core.Hello, core.HelloReply),
    Operation("shutdown", core.Shutdown, session.Empty),
    Operation("session.open", session.SessionOpen, session.SessionOpened),
    Operation("session.close", session.SessionClose, session.Empty),
    Operation("session.input", session.Input, session.Empty),
    Operation("run", session.Run, session.RunReply, _OUTPUT),
    Operation("exec", session.Exec, session.ExecReply, _OUTPUT),
    Operation("file.read", file.FileRead, file.FileReadReply, (("data", file.FileData),)),
    Operation("file.write", file.FileWrite, file.FileWriteReply),
    Operation("file.stat", file.FileStat, file.FileInfo),
    Operation("file.list", file.FileList, file.FileListReply),
    Operation("file.remove", file.FileRemove, session.Empty),
    Operation("file.move", file.FileMove, session.Empty),
    Operation("file.mkdir", file.FileMakeDirectory, session.Empty),
)
