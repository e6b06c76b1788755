"""User-mode networking of a sandbox: pasta or slirp4netns joined to its network namespace."""

from __future__ import annotations

import shutil

from composer.errors import EngineMissingError, UnsupportedError
from composer.runtime.engine import Network


def helper(network: Network, *, root: bool) -> list[str]:
    """The argv of the helper, empty where none is needed.

    ``@PID@`` stands for the container's process, ``@READY@`` for a descriptor to write to once the network is up.
    """
    if network == "bridge":
        raise UnsupportedError("--network bridge", "the embedded engine has no bridge", "use user, or --engine docker")
    if network != "user":
        return []
    slirp, pasta = shutil.which("slirp4netns"), shutil.which("pasta")
    # Started as root, pasta becomes nobody and may not enter the sandbox's namespace; slirp4netns may.
    if slirp and (root or not pasta):
        return [
            slirp,
            "--ready-fd",
            "@READY@",
            "--configure",
            "--mtu=65520",
            "--disable-host-loopback",
            "@PID@",
            "tap0",
        ]
    if pasta and not root:
        ports = ["--tcp-ports", "none", "--udp-ports", "none"]
        return [pasta, "--config-net", "--foreground", "--quiet", *ports, "@PID@"]
    names, package = ("slirp4netns", "slirp4netns") if root else ("pasta or slirp4netns", "passt")
    raise EngineMissingError("--network user", f"no {names} is on PATH", f"install {package}")


def resolver(network: Network, host: str) -> str:
    """The text of resolv.conf: the host's where there is a network, else nothing."""
    return host if network != "none" else ""
