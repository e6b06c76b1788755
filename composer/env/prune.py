"""What of the packages no runtime needs, as a list: to change the layer's size, change the list."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason and the paths, relative to the prefix, that it removes: files, or folders with all below them."""

    reason: str
    paths: re.Pattern[str]


def _rule(reason: str, *patterns: str) -> Rule:
    return Rule(reason, re.compile(f"(?:{'|'.join(patterns)})(?:/.*)?"))


_PYTHON = r"lib/python3\.\d+"

RULES = (
    _rule(
        "records of the installer, which name folders of the build host", "conda-meta", r"CACHEDIR\.TAG", "etc/conda"
    ),
    _rule("for compilers and linkers", "include", r"lib/.*\.(a|la|o)", r"(lib|share)/(pkgconfig|cmake|aclocal)"),
    _rule("for compilers and linkers", r"share/(gcc|gdb)", _PYTHON + r"/config-[^/]*", "compiler_compat"),
    _rule("documentation", r"share/(man|doc|info|gtk-doc|locale|licenses|readline|examples)", "man", "doc"),
    _rule("desktop and package manager of a distribution", r"share/(applications|icons|pixmaps|debianutils|et|ss)"),
    _rule("made again by this build, with one invalidation mode", r"(.*/)?__pycache__", r".*\.py[co]"),
    _rule("tests", _PYTHON + r"/(test|unittest/test|ctypes/test|lib2to3/tests|distutils/tests|sqlite3/test)"),
    _rule("tests", _PYTHON + r"/(idlelib/idle_test|tkinter/test)", _PYTHON + r"/site-packages/zmq/tests"),
    _rule("programs with windows", _PYTHON + r"/(idlelib|tkinter|turtledemo|turtle\.py)", r"bin/idle3[.\d]*"),
    _rule("sources beside compiled modules", _PYTHON + r"/site-packages/.*\.(pyx|pxd|pxi)"),
    _rule("programs for developers", r"bin/(2to3|pydoc|pygettext|pdb)[-.\d]*", r"bin/(bashbug|c_rehash|openssl)"),
    _rule("programs for developers", r"bin/python3?[.\d]*-config", r"bin/(clear|reset|tset|tput|infocmp|toe|tic)"),
    _rule("programs of a distribution", r"bin/clear_console", "lib/binfmt.d"),
    _rule("the engines and legacy provider of OpenSSL", r"lib/engines-3", r"lib/ossl-modules/legacy\.so"),
    _rule("zones with leap seconds, and a second copy of the others", r"share/zoneinfo/(right|posix)"),
    _rule("a link to the base's own time zone", r"share/zoneinfo/localtime"),
    _rule("character sets of mainframes", r"lib/gconv/(IBM|EBCDIC|CWI|DEC-MCS|HP-|TCVN|BRF|ANSI_X|CSN_)[^/]*\.so"),
    _rule(
        "character sets of systems that have ended", r"lib/gconv/(MAC|NATS-|NEXTSTEP|INIS|ISO-IR-|ASMO|ECMA)[^/]*\.so"
    ),
)


def prune(root: Path, rules: tuple[Rule, ...] = RULES) -> set[str]:
    """Delete what ``rules`` name and the folders that are empty then; returns the relative paths of files that went."""
    gone: set[str] = set()
    for folder, folders, names in os.walk(root, topdown=False):
        where = Path(folder).relative_to(root)
        for name in names + [entry for entry in folders if (Path(folder) / entry).is_symlink()]:
            relative = str(where / name)
            if any(rule.paths.fullmatch(relative) for rule in rules):
                (root / relative).unlink()
                gone.add(relative)
        if where != Path() and not os.listdir(folder):
            Path(folder).rmdir()
    return gone
