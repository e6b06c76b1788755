"""User-mode networking of a sandbox: pasta or slirp4netns joined to its network namespace."""

from __future__ import annotations

import shutil

from composer.errors import EngineMissingError, UnsupportedError
from composer.runtime.engine import Network


def helper(network: Network) -> list[str]:
    """The argv of the helper, with ``@PID@`` for the container's process; empty where none is needed."""
    if network == "bridge":
        raise UnsupportedError("--network bridge", "the embedded engine has no bridge", "use user, or --engine docker")
    if network != "user":
        return []
    if pasta := shutil.which("pasta"):
        return [pasta, "--config-net", "--foreground", "--quiet", "--tcp-ports", "none", "--udp-ports", "none", "@PID@"]
    if slirp := shutil.which("slirp4netns"):
        return [slirp, "--configure", "--mtu=65520", "@PID@", "tap0"]
    raise EngineMissingError("--network user", "neither pasta nor slirp4netns is on PATH", "install passt")


def resolver(network: Network, host: str) -> str:
    """The text of resolv.conf: the host's where there is a network, else nothing."""
    return host if network != "none" else ""
