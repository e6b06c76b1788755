"""Edits of the paths that glibc's libraries have compiled in: their data comes from the prefix, not from the base."""

from __future__ import annotations

import re

from composer.env.elf import MACHINES
from composer.env.loader import fit

LIBRARIES = re.compile(
    r"lib/(lib(c|m|pthread|dl|rt|resolv|nss_\w+|nsl|util|anl|BrokenLocale)[-.][\d.]*so[.\d]*|gconv/.*\.so"
    r"|gconv/gconv-modules\.cache)"
)
"""The files of a prefix that `edit_libc` is for. The gconv cache holds the absolute directory of the modules."""

# "/etc/nsswitch.co" is also inlined as a 16-byte constant, so the name is matched without its last bytes
_PATHS = (
    b"/usr/share/zoneinfo",
    b"/usr/share/locale",
    b"/usr/lib/locale",
    b"/usr/lib64/gconv",
    b"/usr/lib/x86_64-linux-gnu/gconv",
    b"/usr/lib/aarch64-linux-gnu/gconv",
    b"/usr/lib/gconv",
    b"/usr/lib/getconf",
    b"/usr/libexec/getconf",
    b"/etc/nsswitch.co",
)
_VARIABLES = ((b"\0LOCPATH\0", b"\0_OCPATH\0"), (b"\0GCONV_PATH\0", b"\0_OC_V_PATH\0"))


def edit_libc(data: bytes, prefix: bytes) -> bytes:
    """The library with its data paths in ``prefix`` and without LOCPATH and GCONV_PATH; the length stays."""
    for path in _PATHS:
        data = data.replace(path, prefix + path[4:])
    data = data.replace(b"/var/run/nscd/so", fit(prefix + b"/run/nscd/so", b"/var/run/nscd/so", b"/"))
    for old, new in _VARIABLES:
        data = data.replace(old, new)
    for machine in MACHINES.values():
        old = machine.interpreter + b"\0"
        data = data.replace(old, fit(prefix + b"/" + machine.loader.encode(), old, b"\0"))
    return data
