"""Sessions and what runs in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_stub.wire.schema import entry

State = Literal["done", "running", "exited", "replaced"]


@dataclass(frozen=True, slots=True)
class SessionOpen:
    """Start a persistent shell."""

    session: str = entry("Its name; empty has the agent choose one.", default="", high=128)
    shell: Literal["auto", "bash", "sh"] = entry(
        "`auto`: the image's bash, else the runtime's own, else the image's sh.", default="auto"
    )
    cwd: str | None = entry("Where it starts; nil is the image's working directory.", default=None)
    env: dict[str, str] = entry("Variables set on top of the image's.", default={})
    rows: int = entry("Rows of the terminal.", default=24, low=1, high=10_000)
    columns: int = entry("Columns of the terminal.", default=200, low=1, high=10_000)


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A session is ready for its first command."""

    session: str = entry("Its name.")
    shell: str = entry("Path of the shell that runs.")
    pid: int = entry("Its process id in the sandbox.")
    cwd: str = entry("Where it is.")


@dataclass(frozen=True, slots=True)
class SessionClose:
    """End a session and everything that it started."""

    session: str = entry("Its name.", high=128)


@dataclass(frozen=True, slots=True)
class Run:
    """Run a command text in a session's shell; the session `main` is opened when it is first named."""

    command: str | bytes = entry("The text, verbatim; any size, no NUL.")
    session: str = entry("The session.", default="main", high=128)
    cwd: str | None = entry("Change there first; it stays, as `cd` would.", default=None)
    env: dict[str, str] = entry("Variables exported first; they stay.", default={})
    timeout: float | None = entry("Hard: seconds until INT, TERM, KILL to the whole tree.", default=None, low=0)
    soft_timeout: float | None = entry("Seconds until a reply `running`; the command goes on.", default=None, low=0)
    wait: bool = entry("False: answer `busy` instead of queueing behind a running command.", default=True)
    stream: bool = entry("True: output comes as `output` events and not in the reply.", default=False)
    limit: int = entry("Bytes of output kept for the reply, half from each end.", default=1 << 20, low=0, high=1 << 28)


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes that a command wrote; they are the raw frame."""

    offset: int = entry("Bytes of this stream before these.")
    stream: Literal["output", "stdout", "stderr"] = entry("Which; a pty has only `output`.", default="output")


@dataclass(frozen=True, slots=True)
class RunReply:
    """How a command ended. Raw frames: its output (unless streamed), then the session's earlier output if any."""

    state: State = entry("`running` after a soft timeout; `exited`, `replaced`: what became of the shell.")
    exit_code: int | None = entry("As `$?`; nil while it runs.", default=None)
    signal: int | None = entry("The signal that ended the shell itself.", default=None)
    cwd: str = entry("The shell's working directory afterwards.", default="")
    size: int = entry("Bytes of output in all.", default=0)
    omitted: int = entry("Bytes left out between the head and the tail.", default=0)
    head: int = entry("Bytes of the raw frame that are the head, when some are omitted.", default=0)
    spill: str | None = entry("File in the sandbox that has all of the output, when some is omitted.", default=None)
    earlier: int = entry("Bytes that background jobs wrote before this command.", default=0)
    duration: float = entry("Seconds.", default=0.0)
    timed_out: bool = entry("The hard timeout ended it.", default=False)
    syntax: bool = entry("The text could not be parsed and nothing of it ran.", default=False)
    restarted: bool = entry("The shell ended and a new one stands in its place.", default=False)


@dataclass(frozen=True, slots=True)
class Input:
    """Type into the running command of a session; the raw frame, or `text`."""

    session: str = entry("The session.", default="main", high=128)
    text: str | bytes = entry("What to type.", default="")


@dataclass(frozen=True, slots=True)
class Exec:
    """Run a program without a shell and without a terminal."""

    argv: list[str] = entry("The program, searched on PATH, and its arguments.", low=1)
    cwd: str | None = entry("Where; nil is the image's working directory.", default=None)
    env: dict[str, str] = entry("Variables set on top of the image's.", default={})
    stdin: bytes = entry("All of its standard input.", default=b"")
    timeout: float | None = entry("Hard: seconds until INT, TERM, KILL to the whole tree.", default=None, low=0)
    stream: bool = entry("True: output comes as `output` events and not in the reply.", default=False)
    limit: int = entry(
        "Bytes kept of each stream for the reply, half from each end.", default=1 << 20, low=0, high=1 << 28
    )


@dataclass(frozen=True, slots=True)
class ExecReply:
    """How a program ended. Raw frames: stdout, stderr (unless streamed)."""

    exit_code: int | None = entry("Its exit code; nil when a signal ended it.", default=None)
    signal: int | None = entry("The signal that ended it.", default=None)
    stdout: int = entry("Bytes of stdout in all.", default=0)
    stderr: int = entry("Bytes of stderr in all.", default=0)
    stdout_omitted: int = entry("Bytes of stdout left out of the raw frame.", default=0)
    stderr_omitted: int = entry("Bytes of stderr left out of the raw frame.", default=0)
    duration: float = entry("Seconds.", default=0.0)
    timed_out: bool = entry("The hard timeout ended it.", default=False)
