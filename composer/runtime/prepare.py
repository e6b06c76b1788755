"""From options to a plan for the shim: layers unpacked, the account looked up, the container described."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from composer.errors import ArchiveError, EngineError, UsageError
from composer.runtime import network
from composer.runtime.control import make_control
from composer.runtime.engine import SandboxOptions
from composer.runtime.image import Image
from composer.runtime.limits import applicable
from composer.runtime.lookup import image_has, image_text
from composer.runtime.passwd import Account, account
from composer.runtime.probe import probe_command, program_path
from composer.runtime.spec import CAPABILITIES, Bind, Container
from composer.runtime.state import SandboxFolder
from composer.runtime.unpack import unpacked_all

_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_AGENT_SOCKET, _RUN = "agent.sock", "/.oc/run"


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that a start needs: where the agent will listen, its token, and the shim's plan (shim.json)."""

    endpoint: str
    token: bytes
    plan: dict[str, Any]
    notify: socket.socket


def prepare(folder: SandboxFolder, options: SandboxOptions, program: str) -> Prepared:
    """Everything before the first process; blocks for as long as layers are unpacked. Raises the engine's errors."""
    image = Image.load(folder.store, options.image)
    if not image.command:
        raise ArchiveError(options.image, "has no entrypoint", "compose it again")
    lower = list(reversed(unpacked_all(folder.store, image.layers)))
    user = options.user if options.user is not None else str(image.config.get("User") or "")
    who = account(user, image_text(lower, "etc/passwd"), image_text(lower, "etc/group"))
    if program == "bubblewrap" and not options.no_new_privileges:
        raise EngineError(
            "--new-privileges", "bubblewrap always sets no_new_privs", "install runc, or use --engine docker"
        )
    rootless = os.geteuid() != 0
    if rootless and (who.uid or who.gid):
        raise EngineError(
            user, "needs a user id that this unprivileged user cannot map", "run as root, or use --user 0:0"
        )
    if rootless:  # a map of one id has no other groups, and the kernel refuses setgroups(2)
        who = replace(who, groups=())
    token = secrets.token_hex(32).encode()
    endpoint, more = _endpoint(folder, options)
    container = Container(
        name=options.name,
        root=str(folder.path / "root"),
        argv=[*image.command, *more],
        environment=_environment(image, options, who),
        account=who,
        cwd=str(image.config.get("WorkingDir") or "/"),
        read_only=options.read_only,
        no_new_privileges=options.no_new_privileges,
        private_network=options.network != "host",
        limits=applicable(options.limits, program),
        binds=_files(folder, options),
        scratch_tmp=not image_has(lower, "tmp"),
        rootless=rootless,
    )
    notify = make_control(folder.control, token, who)
    return Prepared(endpoint, token, _plan(folder, container, lower, program, options), notify)


def _endpoint(folder: SandboxFolder, options: SandboxOptions) -> tuple[str, list[str]]:
    if options.transport == "ipc":
        return f"ipc://{folder.control}/{_AGENT_SOCKET}", []
    if options.network != "host":
        raise UsageError("transport tcp", f"does not reach a sandbox with network {options.network}", "use ipc")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return f"tcp://127.0.0.1:{port}", ["--bind", f"tcp://127.0.0.1:{port}"]


def _environment(image: Image, options: SandboxOptions, who: Account) -> dict[str, str]:
    """As ``docker run`` sets it: PATH, HOSTNAME and HOME where the image does not, then the user's own."""
    found = {"PATH": _DEFAULT_PATH, "HOSTNAME": options.name[:63], **image.environment, **options.env}
    found.setdefault("HOME", who.home)
    return found


def _files(folder: SandboxFolder, options: SandboxOptions) -> list[Bind]:
    host = options.name[:63]
    try:
        nameservers = Path("/etc/resolv.conf").read_text()
    except OSError:
        nameservers = ""
    texts = {
        "hostname": f"{host}\n",
        "hosts": f"127.0.0.1\tlocalhost {host}\n::1\tlocalhost ip6-localhost ip6-loopback\n",
        "resolv.conf": network.resolver(options.network, nameservers),
    }
    for name, text in texts.items():
        (folder.path / name).write_text(text)
        (folder.path / name).chmod(0o644)
    return [Bind(str(folder.control), _RUN), *(Bind(str(folder.path / x), f"/etc/{x}") for x in texts)]


def _plan(
    folder: SandboxFolder, box: Container, lower: list[Path], program: str, options: SandboxOptions
) -> dict[str, Any]:
    for index, path in enumerate(lower):
        (folder.path / str(index)).symlink_to(path)
    for name in ("root", "rw"):
        (folder.path / name).mkdir()
    argv = probe_command(program, box, folder.path)
    delete: list[str] = []
    if program == "bubblewrap":
        argv[1:1] = ["--info-fd", "@INFO@"]
    else:
        position = argv.index("run") + 1
        argv[position:position] = ["--pid-file", str(folder.path / "pid")]
        delete = [program_path(program) or program, "--root", str(folder.path / "runc"), "delete", "--force", box.name]
    return {
        "lower": ":".join(str(index) for index in range(len(lower))),
        "argv": argv,
        "delete": delete,
        "info_fd": program == "bubblewrap",
        "bounding": list(CAPABILITIES.values()) if program == "bubblewrap" else [],
        "network": network.helper(options.network, root=not box.rootless),
        "rootless": box.rootless,
        "tmpfs": _on_overlay(folder.path),
        "control": str(folder.control),
    }


def _on_overlay(path: Path) -> bool:
    """Whether ``path`` is on overlayfs, which cannot hold the writable part of another overlay."""
    found = ("", "")
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, kind = line.partition(" - ")
        mount = fields.split()[4]
        if (path == Path(mount) or Path(mount) in path.parents) and len(mount) >= len(found[0]):
            found = (mount, kind.split()[0])
    return found[1] in ("overlay", "fuse-overlayfs", "fuse.fuse-overlayfs")
