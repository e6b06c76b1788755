"""All sessions of the agent by name, and the operations on them."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from agent_stub.exchange.call import Answer, Call
from agent_stub.output.spill import SpillFolder
from agent_stub.process.descriptors import seal
from agent_stub.process.environment import OWN, image_environment
from agent_stub.process.reaper import Reaper
from agent_stub.process.signals import restore_defaults
from agent_stub.process.tree import become_subreaper, kill_tree
from agent_stub.sessions.execution import Execution
from agent_stub.sessions.session import Session, Setting
from agent_stub.wire.errors import WireError
from agent_stub.wire.operations.core import Empty
from agent_stub.wire.operations.session import Exec, Input, Run, SessionClose, SessionOpen, SessionOpened

MOST = 256
_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


class Sessions:
    """Handlers of ``session.*``, ``run`` and ``exec``."""

    def __init__(self) -> None:
        become_subreaper()
        restore_defaults()
        seal()
        self._reaper = Reaper()
        self._environment = image_environment()
        self._home = _working_directory()
        self._spills = SpillFolder()
        self._sessions: dict[str, Session] = {}
        self._executions: set[Execution] = set()

    async def open(self, body: SessionOpen, _call: Call) -> Answer:
        """Start a session under a name that is free."""
        name = body.session or f"session-{secrets.token_hex(4)}"
        if name in self._sessions:
            raise WireError("session_exists", f"there is a session {name!r} already")
        session = await self._open(replace(body, session=name))
        reply = SessionOpened(name, session.setting.argv[0], session.shell.pid, session.shell.cwd)
        return Answer(reply)

    async def close(self, body: SessionClose, _call: Call) -> Answer:
        """End a session and everything in it."""
        session = self._sessions.pop(body.session, None)
        if session is None:
            raise WireError("no_session", f"there is no session {body.session!r}")
        session.close()
        return Answer(Empty())

    async def run(self, body: Run, call: Call) -> Answer:
        """Run a command; `main` is opened when it is first used."""
        session = self._sessions.get(body.session)
        if session is None:
            if body.session != "main":
                raise WireError("no_session", f"there is no session {body.session!r}: open it first")
            session = await self._open(SessionOpen(session="main"))
        return await session.run(body, call)

    async def input(self, body: Input, call: Call) -> Answer:
        """Type into a session's running command."""
        session = self._sessions.get(body.session)
        if session is None:
            raise WireError("no_session", f"there is no session {body.session!r}")
        text = body.text.encode("utf-8", "surrogateescape") if isinstance(body.text, str) else body.text
        session.input(b"".join([text, *getattr(call, "raw", ())]))
        return Answer(Empty())

    async def exec(self, body: Exec, call: Call) -> Answer:
        """Run a program."""
        execution = Execution(body, call, self._environment, self._reaper)
        self._executions.add(execution)
        try:
            return await execution.finish()
        finally:
            self._executions.discard(execution)

    async def close_all(self) -> None:
        """End every session and program, and what was left behind by them."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        kill_tree(os.getpid())
        self._spills.remove()
        self._reaper.close()

    async def _open(self, body: SessionOpen) -> Session:
        if len(self._sessions) >= MOST:
            raise WireError("limit", f"there are {MOST} sessions already")
        env = {**OWN, **self._environment, **body.env}
        path, bash = _shell(body.shell, env)
        folder = _private_folder()
        flags = ["--noprofile", "--rcfile", f"{folder}/rc", "--noediting", "-i"] if bash else ["-i"]
        if not bash:
            env["ENV"] = f"{folder}/rc"
        setting = Setting(
            body.session, (path, *flags), bash, body.cwd or self._home, env, body.rows, body.columns, folder
        )
        session = Session(setting, self._reaper, self._spills)
        # Known from here on, so that a second request for the name waits for this one.
        self._sessions[body.session] = session
        try:
            await session.ready()
        except WireError:
            del self._sessions[body.session]
            session.close()
            raise
        return session


def _shell(kind: str, env: dict[str, str]) -> tuple[str, bool]:
    """The shell's path and whether it is a bash; raises `WireError` ``not_found``."""
    folders = [*env.get("PATH", "").split(":"), "/bin", "/usr/bin", "/usr/local/bin"]
    if kind in ("auto", "bash"):
        runtime = Path(sys.prefix) / "bin"
        for folder in [*folders, str(runtime)]:
            if folder and os.access(f"{folder}/bash", os.X_OK):
                return f"{folder}/bash", True
    if kind in ("auto", "sh"):
        for folder in folders:
            if folder and os.access(f"{folder}/sh", os.X_OK):
                return f"{folder}/sh", False
    raise WireError("not_found", f"no {'shell' if kind == 'auto' else kind} in this image")


def _private_folder() -> str:
    """A 0700 folder for a session's files: in the control directory, or wherever this user may write."""
    for parent in (os.environ.get("TMPDIR"), f"{sys.prefix}/run", *_FOLDERS):
        if parent is None:
            continue
        try:
            return tempfile.mkdtemp(prefix="session-", dir=parent)
        except OSError:
            continue
    raise WireError("permission", "no folder is writable for a session's files: mount a tmpfs at /tmp")


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"
