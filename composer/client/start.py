"""Starting a sandbox: compose the image when the store has none, and have an engine start it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypedDict

from composer.progress import Progress
from composer.runtime.engine import Engine, Limits, Network, Running, SandboxOptions

if TYPE_CHECKING:
    from composer.store.store import Store


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What to compose and how to run it; ``env`` names the environments, ``variables`` come on top of the image's."""

    env: str | tuple[str, ...] = ("core",)
    engine: str = "oci"
    channels: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    network: Network = "none"
    read_only: bool = False
    no_new_privileges: bool = True
    limits: Limits = field(default_factory=Limits)
    transport: Literal["ipc", "tcp"] = "ipc"
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def envs(self) -> tuple[str, ...]:
        """The environments' names."""
        return (self.env,) if isinstance(self.env, str) else self.env


class Changes(TypedDict, total=False):
    """`StartOptions` by keyword."""

    env: str | tuple[str, ...]
    engine: str
    channels: tuple[str, ...]
    variables: Mapping[str, str]
    user: str | None
    network: Network
    read_only: bool
    no_new_privileges: bool
    limits: Limits
    transport: Literal["ipc", "tcp"]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Start:
    """One start; an `owned` sandbox ends with this process."""

    base: str
    options: StartOptions
    name: str | None = None
    owned: bool = True
    store: Store | None = None
    progress: Progress | None = None


async def start(request: Start) -> tuple[Engine, Running]:
    """Compose in a thread, then start; raises the errors of both, and leaves nothing behind."""
    from composer.runtime.open import open_engine
    from composer.store.store import Store

    options = request.options
    store = request.store or Store.open()
    engine = open_engine(options.engine, store)
    image = await asyncio.to_thread(_compose, request, store)
    running = await engine.start(
        SandboxOptions(
            image=image,
            name=request.name or f"sandbox-{secrets.token_hex(4)}",
            owned=request.owned,
            user=options.user,
            network=options.network,
            read_only=options.read_only,
            no_new_privileges=options.no_new_privileges,
            env=options.variables,
            limits=options.limits,
            transport=options.transport,
            labels=options.labels,
        )
    )
    return engine, running


def _compose(request: Start, store: Store) -> str:
    """The image as the engine calls it: by digest in the store, by name in a container engine."""
    from composer.build import BuildRequest, build
    from composer.progress import silent

    options = request.options
    container_engine = options.engine != "oci"
    wanted = BuildRequest(
        request.base,
        options.envs,
        sink="docker-daemon:" if container_engine else None,
        channels=options.channels,
    )
    result = build(wanted, store, request.progress or silent)
    return result.name if container_engine else str(result.written.manifest_digest)
