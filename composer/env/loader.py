"""Edits of glibc's dynamic loader: it searches the prefix only, and no LD_* variable reaches it.

All edits keep the length of what they replace, which a prefix as long as ``/usr`` and ``/etc`` makes possible. The
loader is recognised by its strings and by the code of ``process_envvars`` (glibc ``elf/rtld.c``); seen in 2.31, 2.36,
2.41 and 2.43 for x86-64 and in 2.31, 2.36 and 2.41 for aarch64.
"""

from __future__ import annotations

import re
import struct

from composer.env.elf import MACHINES, X86_64, Machine
from composer.errors import UnsupportedError, VerifyError

_DIRECTORIES = re.compile(rb"(?:/(?:usr/)?lib(?:64|/[a-z0-9_]+-linux-gnu)?/\0){2,}")
# cmpb $'L',(r); jne; cmpb $'D',1(r); jne; cmpb $'_',2(r)
_X86_TEST = re.compile(rb"\x80[\x38-\x3f]\x4c\x75.\x80[\x78-\x7f]\x01\x44\x75.\x80[\x78-\x7f]\x02\x5f", re.DOTALL)
_UNTOUCHED = (b"/lib64/\0", b"/usr/lib/\0", b"/lib/\0", b"linux-gnu/\0")
_NO_NAME = 1
"""A byte that no environment variable begins with."""


def check_prefix(prefix: str) -> bytes:
    """The prefix as bytes; raises `UnsupportedError` unless it is a slash and three characters."""
    if not re.fullmatch(r"/[A-Za-z0-9._-]{3}", prefix):
        raise UnsupportedError(prefix, "cannot be the prefix: it must be as long as /usr", "use /.oc")
    return prefix.encode()


def fit(new: bytes, old: bytes, padding: bytes) -> bytes:
    """``new`` at the length of ``old``."""
    if len(new) > len(old):
        raise ValueError(f"{new!r} is longer than {old!r}")
    return new + padding * (len(old) - len(new))


def edit_loader(data: bytes, machine: Machine, prefix: bytes, name: str) -> bytes:
    """The loader with its search confined to ``prefix``; raises `VerifyError` when a pattern is not there."""
    data = _confine(data, prefix, name)
    for old, needed in ((b"/etc/ld.so.cache\0", True), (b"/etc/ld.so", False)):  # also pieces inlined as constants
        if needed and old not in data:
            raise _unknown(name, f"no {old!r}")
        data = data.replace(old, prefix + old[4:])
    for known in MACHINES.values():
        standard = known.interpreter + b"\0"
        data = data.replace(standard, fit(prefix + b"/" + known.loader.encode(), standard, b"\0"))
    data = data.replace(b"GLIBC_TUNABLES\0", b"_OC_C_TUNABLES\0")
    return _ignore_variables(data, machine, name)


def variable_tests(data: bytes, machine: Machine) -> list[int]:
    """Where the loader compares the first byte of a variable's name with ``L`` before ``D_``: offsets in bytes."""
    if machine is X86_64:
        return [found.start() + 2 for found in _X86_TEST.finditer(data)]
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    # cmp wN, #'L'; three words on cmp wN, #'D'; another three on cmp wN, #'_'
    first = _compare("L")
    places = (place for place in range(len(words) - 6) if words[place] & 0xFFFFFC1F == first)
    return [4 * p for p in places if _is(words[p + 3], "D") and _is(words[p + 6], "_")]


def search_directories(data: bytes) -> list[bytes]:
    """Directories of the loader's tables that are not in the prefix: empty in a confined loader."""
    return [entry for entry in _UNTOUCHED if re.search(rb"(?:\0|/usr|[^/.a-z])" + re.escape(entry), data)]


def _confine(data: bytes, prefix: bytes, name: str) -> bytes:
    """Rewrite the tables of default directories, entry by entry: there are two, the second not behind a NUL."""

    def entries(found: re.Match[bytes]) -> bytes:
        old = found[0][:-1].split(b"\0")
        # "/usr/lib64/" becomes "/.oc/lib///"; "/lib64/" and "/lib/" are too short for it: "/.oc///", "/.oc/"
        return b"\0".join(fit(prefix + (b"/lib/" if len(e) >= 9 else b"/"), e, b"/") for e in old) + b"\0"

    data, count = _DIRECTORIES.subn(entries, data)
    if not count:
        raise _unknown(name, "no table of default directories")
    left = [entry for entry in _UNTOUCHED if entry in data.replace(prefix + b"/lib/\0", b"")]
    if left:
        raise _unknown(name, f"the default directory {left[0]!r} is left")
    return data


def _ignore_variables(data: bytes, machine: Machine, name: str) -> bytes:
    places = variable_tests(data, machine)
    if not places:
        raise _unknown(name, "the test for LD_ variables was not recognised")
    edited = bytearray(data)
    for place in places:
        if machine is X86_64:
            edited[place] = _NO_NAME
        else:
            word = struct.unpack_from("<I", edited, place)[0]
            struct.pack_into("<I", edited, place, word & ~(0xFFF << 10) | _NO_NAME << 10)
    return bytes(edited)


def _compare(character: str) -> int:
    """``cmp wN, #character`` (SUBS, 32 bits, immediate) with the register masked out."""
    return 0x7100001F | ord(character) << 10


def _is(word: int, character: str) -> bool:
    return word & 0xFFFFFC1F == _compare(character)


def _unknown(name: str, cause: str) -> VerifyError:
    return VerifyError(name, f"is a loader of an unknown build ({cause})", "use a sysroot of glibc 2.28 to 2.43")
