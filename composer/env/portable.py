"""Making a linked prefix self-contained: own glibc, own loader, no variables needed and none of the user's obeyed.

The algorithm and what it was tried on: design/portable_env.md. No program is run and the host's CPU does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from composer.env.elf import MACHINES, Elf, Machine, read_elf
from composer.env.files import regular_files, replace_file, set_modes
from composer.env.libc import LIBRARIES, edit_libc
from composer.env.loader import check_prefix, edit_loader, fit
from composer.env.prune import prune
from composer.env.sysroot import link_glibc, place_glibc
from composer.errors import VerifyError

_LOADER = re.compile(r"lib/(ld\.so|ld-linux[-\w]*\.so\.\d|ld-[\d.]+\.so)")
_SHEBANG = re.compile(rb"#! ?(?:/usr/bin/env |/usr/bin/|/bin/)(python3?|bash|sh)\b")
_INTERPRETERS = {b"sh": b"bash", b"python": b"python3"}
_NSSWITCH = """\
passwd: files
group: files
shadow: files
hosts: files dns
networks: files
services: files
protocols: files
"""


def make_portable(root: Path, machine: Machine, prefix: str) -> Mapping[str, str]:
    """Edit the environment that is linked into ``root`` for ``prefix``.

    Returns where files of the sysroot went, by their old paths, both relative to ``root``. Raises `VerifyError` for a
    file that cannot be made to work: of another CPU, with a foreign interpreter, a loader of an unknown build.
    """
    place = check_prefix(prefix)
    moved = place_glibc(root, machine)
    prune(root)
    for path in regular_files(root):
        _edit(path, str(path.relative_to(root)), machine, place)
    link_glibc(root, machine)
    (root / "nsswitch.conf").write_text(_NSSWITCH)
    (root / "run").mkdir(exist_ok=True)
    set_modes(root)
    return moved


def _edit(path: Path, relative: str, machine: Machine, prefix: bytes) -> None:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == b"#!" and relative.startswith("bin/"):
        _edit_script(path, prefix)
    elif magic == b"\x7fELF" and (elf := read_elf(path)):
        if elf.machine != machine.number:
            other = MACHINES[elf.machine].name if elf.machine in MACHINES else f"ELF machine {elf.machine}"
            raise VerifyError(relative, f"is for {other}, not {machine.name}", "take another build of its package")
        _edit_elf(path, relative, elf, machine, prefix)
    elif LIBRARIES.fullmatch(relative):
        _replace(path, path.read_bytes(), prefix)


def _edit_elf(path: Path, relative: str, elf: Elf, machine: Machine, prefix: bytes) -> None:
    if _LOADER.fullmatch(relative):
        replace_file(path, edit_loader(path.read_bytes(), machine, prefix, relative))
    elif LIBRARIES.fullmatch(relative):
        _replace(path, path.read_bytes(), prefix)
    elif elf.interpreter:
        data = edit_interpreter(path.read_bytes(), elf, machine, prefix, relative)
        # a browser that has fontconfig inside looks for /etc/fonts
        if b"fontconfig" in data:
            data = data.replace(b"/etc/fon", prefix + b"/fon")
        replace_file(path, data)


def edit_interpreter(data: bytes, elf: Elf, machine: Machine, prefix: bytes, name: str) -> bytes:
    """The program with the private loader as its PT_INTERP, at the same length; raises `VerifyError`."""
    new = prefix + b"/" + machine.loader.encode()
    if elf.interpreter == new:
        return data
    if elf.interpreter != machine.interpreter:
        text = elf.interpreter.decode(errors="replace")
        raise VerifyError(name, f"has the interpreter {text}", "take a build of its package for glibc")
    at, size = elf.interpreter_at, elf.interpreter_size
    return data[:at] + fit(new, bytes(size), b"\0") + data[at + size :]


def _replace(path: Path, data: bytes, prefix: bytes) -> None:
    edited = edit_libc(data, prefix)
    if edited != data:
        replace_file(path, edited)


def _edit_script(path: Path, prefix: bytes) -> None:
    """A script of the runtime must not use the base's interpreters."""
    data = path.read_bytes()
    if found := _SHEBANG.match(data):
        program = _INTERPRETERS.get(found[1], found[1])
        replace_file(path, b"#!" + prefix + b"/bin/" + program + data[found.end() :])
