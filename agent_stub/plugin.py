"""What a plugin of the agent is. A plugin imports this module and `agent_stub.wire`, nothing else of the agent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_stub.exchange.call import Answer, Call
from agent_stub.wire.operations.core import Operation

# Answers one operation, given its checked body; raises `WireError` for what the client did wrong and ``OSError`` for
# what the kernel refused.
Handler = Callable[[Any, Call], Coroutine[Any, Any, Answer]]


@dataclass(frozen=True, slots=True)
class PluginRequirement:
    """A plugin that a sandbox asks for, with its options."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


class Plugin(Protocol):
    """Adds operations, named ``plugin.operation``; made with a requirement, started at the first request for it."""

    name: str
    operations: tuple[Operation, ...]

    def handlers(self) -> Mapping[str, Handler]:
        """A handler for each of its operations."""
        ...

    async def start(self, requirement: PluginRequirement) -> None:
        """Start what it needs (a kernel, a browser)."""
        ...

    async def close(self) -> None:
        """End what it started, within a second."""
        ...


ALL_PLUGINS: Mapping[str, type[Plugin]] = {}
