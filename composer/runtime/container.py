"""A sandbox as a container of Docker's API: how it is created, and what is read back from it."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.errors import EngineError, LimitError, SandboxNotFoundError, UnsupportedError
from composer.runtime.engine import Limits, SandboxInfo, SandboxOptions
from composer.runtime.passwd import Account, account

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.types.daemon import CancellableStream

SANDBOX, CONTROL = "org.composer.sandbox", "org.composer.control"
_PORT = "7470/tcp"
_INFO = {"memory": "MemoryLimit", "cpu": "CpuCfsQuota", "pids": "PidsLimit"}


def create_arguments(options: SandboxOptions, control: Path, limits: Limits) -> dict[str, Any]:
    """Keywords of ``containers.create``; raises `UnsupportedError`."""
    if options.network == "user":
        raise UnsupportedError("--network user", "a container engine has its own networks", "use bridge, host or none")
    tcp = options.transport == "tcp"
    if tcp and options.network != "bridge":
        raise UnsupportedError(f"--network {options.network}", "no TCP port is published there", "use bridge, or ipc")
    if tcp and options.read_only:
        raise UnsupportedError("--read-only", "the token cannot be put into a read-only container", "use ipc")
    found: dict[str, Any] = {
        "image": options.image,
        "name": options.name,
        "hostname": None if options.network == "host" else options.name[:63],
        "user": options.user,
        "environment": dict(options.env),
        "network_mode": options.network,
        "read_only": options.read_only,
        "security_opt": ["no-new-privileges"] if options.no_new_privileges else [],
        "labels": {**options.labels, SANDBOX: options.transport, CONTROL: str(control)},
        "mem_limit": limits.memory,
        "nano_cpus": None if limits.cpus is None else int(limits.cpus * 1e9),
        "pids_limit": limits.pids,
    }
    if tcp:
        found |= {"ports": {_PORT: ("127.0.0.1", None)}, "command": ["--bind", f"tcp://0.0.0.0:{_PORT[:-4]}"]}
    else:
        found["volumes"] = {str(control): {"bind": "/.oc/run", "mode": "rw"}}
    return found


def applicable(limits: Limits, info: dict[str, Any]) -> Limits:
    """The limits that the engine can apply (it drops the others with a warning); raises `LimitError`."""
    wanted = {"memory": limits.memory, "cpu": limits.cpus, "pids": limits.pids}
    missing = {name for name, value in wanted.items() if value is not None and not info.get(_INFO[name])}
    if missing and not limits.best_effort:
        names = " and ".join(sorted(missing))
        raise LimitError(names, "cannot be limited by this engine", "use --best-effort-limits to go without")
    return Limits(
        None if "memory" in missing else limits.memory,
        None if "cpu" in missing else limits.cpus,
        None if "pids" in missing else limits.pids,
    )


def account_of(container: Container) -> Account:
    """Who the container's process will be, looked up in its own files; raises `UsageError`."""
    user = str(container.attrs["Config"].get("User") or "")
    return account(user, _text(container, "/etc/passwd"), _text(container, "/etc/group"))


def token_archive(token: bytes, who: Account) -> bytes:
    """A tar for ``/.oc``: the control directory and the token, both the container user's."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        folder, file = tarfile.TarInfo("run"), tarfile.TarInfo("run/token")
        folder.type, folder.mode, file.mode, file.size = tarfile.DIRTYPE, 0o700, 0o600, len(token)
        for entry in (folder, file):
            entry.uid, entry.gid = who.uid, who.gid
        archive.addfile(folder)
        archive.addfile(file, io.BytesIO(token))
    return out.getvalue()


def agent_endpoint(container: Container) -> str:
    """Where the agent of a running container is; raises `EngineError`."""
    if container.labels[SANDBOX] == "ipc":
        return f"ipc://{container.labels[CONTROL]}/agent.sock"
    ports = container.attrs["NetworkSettings"]["Ports"].get(_PORT)
    if not ports:
        raise EngineError(str(container.name), "the engine published no port for the agent", "see the engine's log")
    return f"tcp://127.0.0.1:{ports[0]['HostPort']}"


def sandbox_info(container: Container) -> SandboxInfo:
    """A row for ``composer ls``."""
    started = datetime.fromisoformat(container.attrs["Created"][:19] + "+00:00").timestamp()
    labels = {key: value for key, value in container.labels.items() if key not in (SANDBOX, CONTROL)}
    state = "running" if container.attrs["State"]["Running"] else "exited"
    image = str(container.attrs["Config"]["Image"])
    where = agent_endpoint(container) if state == "running" else None
    return SandboxInfo(
        str(container.name), "docker", image, "running" if where else "exited", started, where, labels
    )  # fmt: skip


def read_until_ready(pieces: Iterable[bytes]) -> str | None:
    """None once the agent's ready line was logged; the last lines when the log ends before it."""
    last: list[str] = []
    for line in _lines(pieces):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if isinstance(found, dict) and found.get("event") == "ready":
            return None
        last = [*last[-3:], line.decode(errors="replace")]
    return " | ".join(last)[-600:] or "it wrote nothing"


def close_log(log: CancellableStream[bytes]) -> None:
    """End a followed log: its ``close`` ends the connection but keeps the response, and with it the socket object."""
    log.close()
    log._response.close()  # type: ignore[attr-defined]


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _text(container: Container, path: str) -> str:
    from docker import errors

    try:
        pieces, _ = container.get_archive(path)
    except errors.NotFound:
        return ""
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
        file = archive.extractfile(archive.getmembers()[0])
        return file.read().decode(errors="replace") if file is not None else ""


def checked(container: Container) -> Container:
    """The container, when it is one of ours; raises `SandboxNotFoundError`."""
    if SANDBOX not in container.labels:
        raise SandboxNotFoundError(str(container.name), "the container is no sandbox", "composer ls shows them")
    return container
