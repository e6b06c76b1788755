"""The agent as one file, ``agent.pyz``, and as a layer that holds nothing else."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from composer.bases.stream import unpacked_stream
from composer.env.build import machine_of
from composer.env.bytecode import PrivatePython
from composer.errors import ArchiveError, StoreError, UnsupportedError
from composer.layers.entries import Entry
from composer.layers.layer import Layer
from composer.layers.pack import pack_entries
from composer.oci.digest import Digest
from composer.oci.mediatype import Compression, compression_of
from composer.oci.platform import Platform
from composer.store.disk import disk_errors
from composer.store.lock import locked
from composer.store.owner import owner
from composer.store.store import Store

NAME = "agent.pyz"
PACKAGES = ("agent_stub", "plugins")
# asyncio does without ssl where there is none (asyncio/base_events.py): the agent has no TLS streams, and loading
# OpenSSL would be a fifteenth of its start. A plugin may import ssl later.
# Collecting garbage while only modules are made would be another twentieth; they are kept for good anyway.
_MAIN = """\
import gc
import sys

gc.disable()
sys.modules["ssl"] = None
import asyncio

del sys.modules["ssl"]
from agent_stub.__main__ import main

gc.freeze()
gc.enable()
raise SystemExit(main())
"""

# Run by the environment's own Python, so that the bytes depend on its version and not on the host's. The modules are
# compiled in one process in a fixed order, since marshal marks what it has met before. Stored, not deflated: the layer
# is compressed as a whole, and zipimport starts sooner. The sources are for tracebacks alone.
_PROGRAM = """
import importlib._bootstrap_external as external, importlib.util, json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_STORED) as archive:
    for name, source in json.load(sys.stdin):
        code = compile(source, "/".join((sys.argv[2], name)), "exec", dont_inherit=True, optimize=0)
        data = external._code_to_hash_pyc(code, importlib.util.source_hash(source.encode()), False)
        archive.writestr(zipfile.ZipInfo(name), source)
        archive.writestr(zipfile.ZipInfo(name + "c"), bytes(data))
"""


def sources() -> tuple[tuple[str, str], ...]:
    """The agent's modules: path in the archive and text, sorted; the archive's entry point is among them."""
    found = [("__main__.py", _MAIN)]
    for package in PACKAGES:
        spec = find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            root = Path(folder)
            for path in root.rglob("*.py"):
                found.append((f"{package}/{path.relative_to(root).as_posix()}", path.read_text(encoding="utf-8")))
    return tuple(sorted(found))


def source_digest(modules: Sequence[tuple[str, str]]) -> Digest:
    """The digest of the agent's source: names and texts, nothing of the machine."""
    digest = hashlib.sha256()
    for name, text in modules:
        digest.update(f"{name}\0{len(text.encode())}\0{text}\0".encode())
    return Digest("sha256:" + digest.hexdigest())


def bundle(modules: Sequence[tuple[str, str]], python: PrivatePython, target: Path, place: str) -> None:
    """Write the archive to ``target``; ``place`` is its path in the image, as tracebacks show it.

    Raises `UnsupportedError` when this machine cannot run the environment's Python.
    """
    import json

    command = python.command("-I", "-B", "-c", _PROGRAM, str(target), place)
    environment = {"PATH": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    try:
        done = subprocess.run(
            command, input=json.dumps(modules).encode(), env=environment, capture_output=True, check=False
        )
    except OSError as error:
        cause = f"cannot be run on this machine ({error.strerror})"
        raise UnsupportedError(command[0], cause, "build on a machine of that CPU") from error
    if done.returncode:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise StoreError(NAME, f"cannot be compiled ({last})", "this is a fault of composer: report it")


def agent_layer(
    store: Store, prefix: str, platform: Platform, env_layers: Sequence[Layer], compression: Compression
) -> tuple[Layer, Digest]:
    """The agent's layer, made when the store has none of this source, and the digest of its source."""
    from composer.layers.record import find_layer, save_layer

    modules = sources()
    digest = source_digest(modules)
    foundation = env_layers[0]
    inputs = f"{digest} {foundation.diff_id} {prefix} {compression} {_PROGRAM}"
    key = hashlib.sha256(inputs.encode()).hexdigest()
    record = store.root / "agents" / f"{key}.json"
    layer = find_layer(store, record)
    if layer is None:
        # One builder at a time; the others wait and find it done.
        with locked(store.root / "locks" / f"agent-{key}"):
            layer = find_layer(store, record)
            if layer is None:
                with _python(store, prefix, platform, foundation) as python:
                    layer = _pack(modules, python, store, prefix, compression)
                save_layer(record, layer)
    return layer, digest


def _pack(
    modules: Sequence[tuple[str, str]], python: PrivatePython, store: Store, prefix: str, compression: Compression
) -> Layer:
    with _temporary(store, "agent") as folder:
        target = folder / NAME
        bundle(modules, python, target, f"{prefix}/{NAME}")
        target.chmod(0o644)
        above = folder / "prefix"
        above.mkdir()
        above.chmod(0o755)
        below = prefix.strip("/")
        return pack_entries((Entry(below, above), Entry(f"{below}/{NAME}", target)), store.blobs, compression, "agent")


@contextmanager
def _temporary(store: Store, name: str) -> Iterator[Path]:
    """A folder that is swept when this process is killed."""
    with tempfile.TemporaryDirectory(dir=store.root / "tmp", prefix=f"{name}-{owner()}-") as folder:
        yield Path(folder)


@contextmanager
def _python(store: Store, prefix: str, platform: Platform, foundation: Layer) -> Iterator[PrivatePython]:
    """The environment's Python: from the layers that an engine has unpacked, else unpacked for this once."""
    unpacked = store.root / "unpacked" / foundation.diff_id.hex / prefix.strip("/")
    machine = machine_of(platform)
    if unpacked.is_dir():
        yield PrivatePython(unpacked, machine)
        return
    name = str(foundation.descriptor.digest)
    packing = compression_of(foundation.descriptor.media_type) or "none"
    with _temporary(store, "python") as folder:
        try:
            with (
                disk_errors(folder),
                store.blobs.open(foundation.descriptor.digest) as blob,
                unpacked_stream(blob, packing, name) as stream,
                tarfile.open(fileobj=stream, mode="r|") as tar,
            ):
                tar.extractall(folder, filter="tar")
        except tarfile.TarError as error:
            raise ArchiveError(name, f"the layer cannot be read: {error}", "build the env again") from error
        yield PrivatePython(folder / prefix.strip("/"), machine)
