"""What an engine is: something that starts a sandbox from a composed image and ends it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

Network = Literal["none", "host", "user", "bridge"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a sandbox: bytes, CPUs (1.5 is one and a half), processes. None is unlimited."""

    memory: int | None = None
    cpus: float | None = None
    pids: int | None = None
    best_effort: bool = False


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    """How to start a sandbox.

    ``image`` is the composed image's manifest digest in the local store (embedded engine) or its name (container
    engines). ``owned`` sandboxes end with the process that started them, however that ends; others stay until removed.
    ``user`` is as in an image config (``name``, ``uid``, ``uid:gid``); None takes the image's own.
    """

    image: str
    name: str
    owned: bool = True
    user: str | None = None
    network: Network = "none"
    read_only: bool = False
    no_new_privileges: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    transport: Literal["ipc", "tcp"] = "ipc"
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Running:
    """A started sandbox whose agent is ready: where it listens and the token that it asks for."""

    name: str
    engine: str
    endpoint: str
    token: bytes


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    """A row of ``composer ls``; ``started`` is seconds since the epoch."""

    name: str
    engine: str
    image: str
    state: Literal["running", "exited", "dead"]
    started: float
    endpoint: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether one way to run sandboxes works here, why not, and the package that would help."""

    name: str
    works: bool
    detail: str
    package: str | None = None


class Engine(Protocol):
    """Starts and ends sandboxes. Errors: `EngineMissingError`, `EngineError`, `LimitError`, `AgentLostError`."""

    name: str

    async def start(self, options: SandboxOptions) -> Running:
        """Start a sandbox and wait for its agent's word that it is ready; on error or cancel nothing is left behind."""
        ...

    async def connect(self, name: str) -> Running:
        """Where a running sandbox's agent is; raises `SandboxNotFoundError`."""
        ...

    async def remove(self, name: str, grace: float = 1.0) -> None:
        """Ask the agent's process to end, kill it after ``grace`` seconds, and remove every trace of the sandbox."""
        ...

    async def sandboxes(self) -> list[SandboxInfo]:
        """The sandboxes of this user on this engine."""
        ...

    def logs(self, name: str, *, follow: bool = False) -> AsyncIterator[bytes]:
        """What the agent's process wrote to its stderr and stdout."""
        ...

    async def probe(self) -> list[Probe]:
        """What works here, for ``composer doctor``."""
        ...
