"""The steps that single packages need to look as on conda-forge, and their prefix placeholders."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from tools.channel.errors import RecipeError
from tools.channel.package import LONG_PLACEHOLDER, SHORT_PLACEHOLDER, Placeholder
from tools.channel.recipes import PYTHON
from tools.channel.tree import Entry, Tree, link

_TEXT = Placeholder(LONG_PLACEHOLDER, "text")
_BINARY = Placeholder(SHORT_PLACEHOLDER, "binary")


@dataclass(frozen=True)
class Layout:
    """Files at their final places, and which of them name the prefix."""

    tree: Tree
    placeholders: Mapping[str, Placeholder]


def ca_certificates(_: Tree, original: Tree) -> Layout:
    """One bundle ``ssl/cacert.pem`` of Mozilla's certificates, with a link as OpenSSL calls it."""
    certificates = [
        entry.data for path, entry in sorted(original.items()) if path.startswith("usr/share/ca-certificates/mozilla/")
    ]
    return Layout({"ssl/cacert.pem": Entry(b"".join(certificates)), "ssl/cert.pem": link("cacert.pem")}, {})


def tzdata(tree: Tree, _: Tree) -> Layout:
    """The zones once: neither with leap seconds (``right``) nor doubled (``posix``)."""
    doubled = re.compile(r"share/zoneinfo/(right|posix)/")
    return Layout({path: entry for path, entry in tree.items() if not doubled.match(path)}, {})


def ncurses(tree: Tree, _: Tree) -> Layout:
    """Make libtinfo look under the prefix; Debian's looks in /etc, /lib and /usr/share."""
    path = next(path for path, entry in sorted(tree.items()) if path.startswith("lib/libtinfo.so.") and entry.is_elf)
    edits = [
        (rb"/etc/terminfo:/lib/terminfo:/usr/share/terminfo", b"/_pl/share/terminfo"),
        (rb"/etc/terminfo(?=\0)", b"/_pl/terminfo"),
    ]
    return Layout({**tree, path: edited(path, tree[path], edits)}, {path: _BINARY})


def openssl(tree: Tree, _: Tree) -> Layout:
    """OPENSSLDIR becomes ``PREFIX/ssl``, as on conda-forge; provider modules are in ``PREFIX/lib/ossl-modules``."""
    kept = {path: entry for path, entry in tree.items() if not path.startswith("lib/ssl/") and path != "bin/c_rehash"}
    path = "lib/libcrypto.so.3"
    edits = [
        (rb"/usr/lib/[-\w]+-gnu/(ossl-modules|engines-3)(?=\"?\0)", rb"/_pl/lib/\1"),
        (rb"/usr/lib/ssl(?=[/\"\0])", rb"/_pl/ssl"),
    ]
    return Layout({**kept, path: edited(path, kept[path], edits)}, {path: _BINARY})


def python(tree: Tree, _: Tree) -> Layout:
    """The usual names, ``site-packages``, and a prefix in the binary, the scripts and the build settings."""
    library = f"lib/python{PYTHON}"
    binary, pydoc = f"bin/python{PYTHON}", f"bin/pydoc{PYTHON}"
    debian_only = re.compile(
        rf"{library}/(EXTERNALLY-MANAGED|test/|_distutils_system_mod\.py|lib-dynload/(_dbm|_gdbm|nis|ossaudiodev)\.)|lib/python3/"
    )
    kept = {path: entry for path, entry in tree.items() if not debian_only.match(path)}
    kept |= {f"bin/{name}": link(f"python{PYTHON}") for name in ("python", "python3")}
    # Debian's site.py, frozen into the binary, adds dist-packages and not site-packages.
    kept[f"{library}/dist-packages"] = link("site-packages")
    kept[f"{library}/site-packages/README.txt"] = Entry(b"Packages of this environment.\n")
    kept[binary] = edited(binary, kept[binary], [(rb"(?<=\0)/usr(?=\0)", b"/_pl")])
    prefix = LONG_PLACEHOLDER.encode()
    settings = next(path for path, entry in kept.items() if "/_sysconfigdata_" in path and entry.target is None)
    kept[settings] = Entry(re.sub(rb"/usr\b(?!/share/python-wheels)", prefix, kept[settings].data))
    script = f"#!{LONG_PLACEHOLDER}/bin/python{PYTHON}\nimport pydoc\n\nif __name__ == '__main__':\n    pydoc.cli()\n"
    kept[pydoc] = Entry(script.encode(), executable=True)
    return Layout(kept, {binary: _BINARY, settings: _TEXT, pydoc: _TEXT})


def edited(path: str, entry: Entry, edits: list[tuple[bytes, bytes]]) -> Entry:
    """The file with the start of C strings replaced: what a pattern matches and the rest of its string.

    The string may get shorter (padded by NUL bytes), so that no offset moves. Raises RecipeError when a pattern
    does not occur, or would make a string longer.
    """
    data = entry.data
    for pattern, new in edits:
        string = re.compile(rb"(?:" + pattern + rb")(?P<rest>[^\0]*)\0")
        data, count = string.subn(partial(_shortened, new), data)
        if not count or len(data) != len(entry.data):
            raise RecipeError(path, f"does not contain {pattern!r} as expected", "look at tools/channel/layouts.py")
    return replace(entry, data=data)


def _shortened(new: bytes, found: re.Match[bytes]) -> bytes:
    return (found.expand(new) + found["rest"]).ljust(len(found[0]), b"\0")


LAYOUTS: Mapping[str, Callable[[Tree, Tree], Layout]] = {
    "ca_certificates": ca_certificates,
    "ncurses": ncurses,
    "openssl": openssl,
    "python": python,
    "tzdata": tzdata,
}
