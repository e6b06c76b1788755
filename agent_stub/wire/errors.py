"""The closed set of error codes that an agent answers with. A command's non-zero exit code is not an error."""

from __future__ import annotations

CODES: dict[str, str] = {
    "malformed": "The message cannot be decoded: frames, msgpack, header.",
    "version": "The protocol version is not spoken here.",
    "invalid": "A field is missing, unknown, of another type or out of bounds.",
    "unauthenticated": "The peer has not proved that it knows the token.",
    "unknown_operation": "No operation has that name.",
    "no_session": "No session has that name.",
    "session_exists": "A session has that name already.",
    "busy": "The session runs another command and the request asked not to wait.",
    "limit": "A limit of the agent is reached: sessions, open requests, sizes.",
    "cancelled": "The request was cancelled before it had a result.",
    "timeout": "The operation did not end in its time.",
    "not_found": "No such file, program or user.",
    "exists": "The target exists.",
    "permission": "The operating system refuses it.",
    "io": "An input or output error; errno tells which.",
    "no_space": "No space is left on the device.",
    "gone": "The reply or the output asked for is kept no longer.",
    "shutting_down": "The agent ends and takes no new request.",
    "internal": "A fault of the agent; its log has the traceback.",
}
RETRYABLE = frozenset({"busy", "limit", "no_space", "shutting_down"})


class WireError(Exception):
    """An error as it travels: a code of `CODES`, a message for people, and errno where the kernel gave one."""

    def __init__(self, code: str, message: str, errno: int | None = None) -> None:
        super().__init__(code, message, errno)
        assert code in CODES, code
        self.code = code
        self.message = message
        self.errno = errno

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later without a change."""
        return self.code in RETRYABLE

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
