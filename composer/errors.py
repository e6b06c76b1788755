"""The family of errors that composer raises, each with a code, an exit status and a next step.

Exit statuses start at 64, as in ``sysexits.h``, so that they seldom meet the exit code of a user's command.
"""

from __future__ import annotations

from typing import ClassVar


class ComposerError(Exception):
    """What went wrong with which input, why, and what to do next.

    ``code`` is stable and meant for programs (``--json``), ``exit_status`` is the process's, ``retryable`` says that
    the same call may succeed later without a change.
    """

    code: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 70
    retryable: ClassVar[bool] = False

    def __init__(self, input_name: str, cause: str, next_step: str = "") -> None:
        super().__init__(input_name, cause, next_step)
        self.input_name = input_name
        self.cause = cause
        self.next_step = next_step

    def __str__(self) -> str:
        line = f"{self.input_name}: {self.cause}"
        return f"{line}; {self.next_step}" if self.next_step else line

    def as_json(self) -> dict[str, object]:
        """The error as the ``error`` object of ``--json`` output."""
        return {
            "code": self.code,
            "exit_status": self.exit_status,
            "input": self.input_name,
            "cause": self.cause,
            "next_step": self.next_step,
            "retryable": self.retryable,
        }


class UsageError(ComposerError):
    """An argument that cannot mean anything: a malformed reference, scheme or option."""

    code, exit_status = "usage", 64


class ArchiveError(ComposerError):
    """A tar, layer or layout that is truncated, corrupt or hostile."""

    code, exit_status = "bad_archive", 65


class BaseNotFoundError(ComposerError):
    """The base image or root file system named does not exist."""

    code, exit_status = "base_not_found", 66


class PlatformError(ComposerError):
    """The base is for another CPU architecture or operating system."""

    code, exit_status = "platform", 67


class PrefixConflictError(ComposerError):
    """The base has a file or link where the runtime's prefix goes."""

    code, exit_status = "prefix_conflict", 68


class EngineMissingError(ComposerError):
    """No container engine, or a program that it needs, was found on this machine."""

    code, exit_status = "engine_missing", 69


class EngineError(ComposerError):
    """A container engine was found and failed."""

    code, exit_status = "engine_failed", 71


class UnsupportedError(ComposerError):
    """Something well-formed that this version does not do (schema 1, a foreign layer that must be read)."""

    code, exit_status = "unsupported", 72


class StoreError(ComposerError):
    """The local content store cannot be read or written."""

    code, exit_status = "store", 73


class DiskFullError(StoreError):
    """No space is left where the store, the stage or the output is."""

    code, exit_status, retryable = "disk_full", 74, True


class ChannelError(ComposerError):
    """A conda channel cannot be reached or read."""

    code, exit_status, retryable = "channel_unreachable", 75, True


class DigestMismatchError(ComposerError):
    """Bytes do not have the digest that was promised for them."""

    code, exit_status = "digest_mismatch", 76


class AuthenticationError(ComposerError):
    """A credential or token was refused."""

    code, exit_status = "unauthenticated", 77


class SpecError(ComposerError):
    """An environment.yml or conda-lock.yml that cannot be understood."""

    code, exit_status = "bad_spec", 78


class UnsolvableError(ComposerError):
    """No set of packages of the channels satisfies the spec."""

    code, exit_status = "unsolvable", 79


class VerifyError(ComposerError):
    """A built environment does not pass its gates."""

    code, exit_status = "verify_failed", 80


class LimitError(ComposerError):
    """A resource limit was asked for that cannot be applied here."""

    code, exit_status = "limits_unavailable", 81


class AgentError(ComposerError):
    """The agent answered with an error; ``code`` on the instance is the wire code."""

    code, exit_status = "agent", 82


class AgentLostError(ComposerError):
    """The agent did not start, or the connection to it ended."""

    code, exit_status, retryable = "agent_lost", 83, True


class SandboxNotFoundError(ComposerError):
    """No sandbox has that name."""

    code, exit_status = "sandbox_not_found", 84
