"""The one chain: reference -> base -> lock -> layers -> plan -> sink. Each step is a module, joined here."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from composer.bases.open import open_base
from composer.layers.layer import Layer
from composer.layers.record import env_key, find_env, save_env
from composer.oci.mediatype import Compression
from composer.oci.platform import Platform
from composer.plan.append import plan_append
from composer.plan.values import Mode, Options, Plan, PlannedBlob, RuntimeLayers
from composer.progress import Progress, silent
from composer.sinks.open import open_sink
from composer.sinks.sink import Written
from composer.store.lock import locked
from composer.store.store import Store

if TYPE_CHECKING:
    from composer.env.lock import Lock

_ARCHIVE = re.compile(r"\.(tar(\.(gz|xz|zst|zstd|bz2))?|tgz|txz|tzst|tbz2?)$")


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What to build: the base as the user wrote it, the env specs by name or path, and choices about the result.

    ``sink`` is where the image goes (None: the local store) and ``name`` what it is called there (None: a name made of
    the base's, with the source tag); ``channels`` replace those of the specs; ``created`` is RFC 3339.
    """

    base: str
    env: tuple[str, ...] = ("core",)
    name: str | None = None
    sink: str | None = None
    platform: Platform = field(default_factory=Platform.host)
    prefix: str = "/.oc"
    channels: tuple[str, ...] = ()
    mode: Mode = "sidecar"
    labels: Mapping[str, str] = field(default_factory=dict)
    compression: Compression = "gzip"
    created: str | None = None


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What was built and where it went; ``seconds`` has the time of each step, ``env_reused`` that no env was made."""

    request: BuildRequest
    plan: Plan
    runtime: RuntimeLayers
    written: Written
    name: str
    env_reused: bool
    seconds: Mapping[str, float]


class Stopwatch:
    """Seconds of named steps."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the time spent inside to ``name``."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began


def build(request: BuildRequest, store: Store, progress: Progress = silent) -> BuildResult:
    """Compose one image and put it into its sink; raises a `ComposerError` and leaves nothing half-done."""
    from composer.env.resolve import resolve_lock

    watch = Stopwatch()
    with watch.step("base"):
        base = open_base(request.base, store)
        image = base.resolve(request.platform)
        base.check_prefix(image, request.prefix)
    with watch.step("lock"):
        lock = resolve_lock(request.env, request.channels, request.platform, store, progress)
    with watch.step("layers"):
        runtime, reused = runtime_layers(request, lock, store, progress)
    with watch.step("plan"):
        plan = plan_append(image, runtime, Options(request.mode, request.labels, request.created))
    with watch.step("sink"):
        name = request.name or default_name(request.base, plan)
        sink = open_sink(request.sink, name, store)

        @contextmanager
        def read(blob: PlannedBlob) -> Iterator[BinaryIO]:
            if blob.origin == "store":
                with store.blobs.open(blob.descriptor.digest) as file:
                    yield file
            else:
                with base.open_layer(blob.descriptor) as file:
                    yield file

        written = sink.apply(plan, read, progress)
    return BuildResult(request, plan, runtime, written, name, reused, watch.seconds)


def runtime_layers(
    request: BuildRequest, lock: Lock, store: Store, progress: Progress = silent
) -> tuple[RuntimeLayers, bool]:
    """The layers of a locked env and of the agent, made when the store has none; and whether the env's were there."""
    from composer.layers.agent import agent_layer

    lock_digest = lock.digest(request.platform)
    key = env_key(lock_digest, request.prefix, request.platform, request.compression)
    env = find_env(store, key)
    reused = env is not None
    if env is None:
        # One builder at a time for an env; the others wait and find it done.
        with locked(store.root / "locks" / f"env-{key}"):
            env = find_env(store, key)
            reused = env is not None
            if env is None:
                store.sweep()
                env = _make_env(request, lock, store, key, progress)
    agent, agent_digest = agent_layer(store, request.prefix, request.platform, env, request.compression)
    return RuntimeLayers(lock_digest, agent_digest, request.prefix, request.platform, env, agent), reused


def _make_env(request: BuildRequest, lock: Lock, store: Store, key: str, progress: Progress) -> tuple[Layer, ...]:
    from composer.env.build import build_env
    from composer.layers.pack import pack_env

    with build_env(lock, request.platform, store, prefix=request.prefix, progress=progress) as built:
        layers = pack_env(built, store, request.compression, progress)
        save_env(store, key, built, layers)
    return layers


def default_name(base: str, plan: Plan) -> str:
    """A name for people: the base's without an archive's suffix, made safe, and the source tag."""
    stem = _ARCHIVE.sub("", base.lower().rpartition("/")[2])
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in stem)
    return f"{kept.strip('._-') or 'image'}-rt:{plan.tags.source}"
