"""What actions give back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

State = Literal["done", "running", "exited", "replaced"]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a command in a shell ended; see `agent_stub.wire.operations.session.RunReply` for each field.

    ``output_bytes`` is exact, and empty when the output was streamed; ``omitted`` of ``size`` bytes were not given out
    because there were too many to keep or send (``spill`` has them all then); ``earlier_bytes`` is what background jobs
    wrote before this command. ``duration`` is seconds.
    """

    output_bytes: bytes = field(repr=False)
    exit_code: int | None
    state: State
    cwd: str
    signal: int | None = None
    size: int = 0
    omitted: int = 0
    spill: str | None = None
    earlier_bytes: bytes = field(default=b"", repr=False)
    duration: float = 0.0
    timed_out: bool = False
    syntax: bool = False
    restarted: bool = False

    @property
    def output(self) -> str:
        """The output as text; bytes that are not UTF-8 become U+FFFD."""
        return self.output_bytes.decode(errors="replace")

    @property
    def ok(self) -> bool:
        """Whether it ended with exit code 0."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a program ended; ``exit_code`` is None when a signal ended it, ``duration`` is seconds."""

    stdout_bytes: bytes = field(repr=False)
    stderr_bytes: bytes = field(repr=False)
    exit_code: int | None
    signal: int | None = None
    stdout_omitted: int = 0
    stderr_omitted: int = 0
    duration: float = 0.0
    timed_out: bool = False

    @property
    def stdout(self) -> str:
        """Standard output as text."""
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Standard error as text."""
        return self.stderr_bytes.decode(errors="replace")

    @property
    def ok(self) -> bool:
        """Whether it ended with exit code 0."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """A piece of a command's output; a ``gap`` piece has no data and stands for output that came too fast to keep."""

    data: bytes
    stream: Literal["output", "stdout", "stderr"] = "output"
    offset: int = 0
    gap: bool = False

    @property
    def text(self) -> str:
        """The data as text; a character that is cut between two pieces becomes U+FFFD."""
        return self.data.decode(errors="replace")
