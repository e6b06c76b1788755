"""Errors of the wire as errors of composer."""

from __future__ import annotations

from agent_stub.wire.errors import WireError
from composer.errors import AgentError, AgentLostError, AuthenticationError, ComposerError

NEXT_STEPS = {
    "unknown_operation": "`hello` lists the operations of this agent",
    "no_session": "open it first with session.open",
    "busy": "wait for the command that runs there, or cancel it",
    "limit": "send less, or fewer at a time",
    "version": "use the client of the same release as the image's agent",
    "internal": "the sandbox's log has the traceback",
}


class AnsweredError(AgentError):
    """The agent answered one request with an error; ``code`` is the wire's, ``errno`` the kernel's if it gave one."""

    def __init__(self, operation: str, error: WireError) -> None:
        super().__init__(operation, f"{error.message} ({error.code})", NEXT_STEPS.get(error.code, ""))
        self.errno = error.errno
        # The class's code stands for the family; an instance tells which one it is.
        vars(self)["code"] = error.code
        vars(self)["retryable"] = error.retryable


def from_wire(operation: str, error: WireError) -> ComposerError:
    """The error that a caller sees."""
    if error.code == "unauthenticated":
        return AuthenticationError(operation, error.message, "take the token of this very sandbox")
    return AnsweredError(operation, error)


def lost(endpoint: str, cause: str) -> AgentLostError:
    """The agent cannot be reached, or no longer."""
    return AgentLostError(endpoint, cause, "look at the sandbox's log, or start another one")
