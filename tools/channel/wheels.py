"""PyPI wheels as conda packages: pure ones as ``noarch: python`` with entry points, others for one subdir.

After the wheel format (packaging.python.org, "Binary distribution format") and conda's ``link.json``.
"""

from __future__ import annotations

import configparser
import email.message
import email.parser
import hashlib
import io
import posixpath
import re
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tools.channel.architecture import Architecture
from tools.channel.elf import required_glibc
from tools.channel.errors import RecipeError
from tools.channel.package import LONG_PLACEHOLDER, Package, Placeholder
from tools.channel.recipes import CONDA_NAMES, PYTHON
from tools.channel.tree import Entry, Tree

_DATA = re.compile(r"[^/]+\.data/(purelib|platlib|scripts|data|headers)/(.+)")


@dataclass(frozen=True)
class Wheel:
    """An opened wheel: its metadata, its files by their places below the environment (pure: ``site-packages/``)."""

    sha256: str
    pure: bool
    metadata: email.message.Message
    entry_points: tuple[str, ...]
    tree: Tree

    @property
    def name(self) -> str:
        """The name as PyPI normalises it."""
        return canonical(str(self.metadata["Name"]))


def canonical(name: str) -> str:
    """A project name, normalised (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def conda_name(name: str) -> str:
    """What conda-forge calls the PyPI project ``name``."""
    return CONDA_NAMES.get(canonical(name), canonical(name))


def read_wheel(filename: str, data: bytes) -> Wheel:
    """Open a wheel; raises RecipeError for a damaged one."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {item.filename: _entry(archive, item) for item in archive.infolist() if not item.is_dir()}
    except zipfile.BadZipFile as error:
        raise RecipeError(filename, "it is not a wheel", "remove it from the cache") from error
    info = next((path.split("/")[0] for path in files if path.endswith(".dist-info/METADATA")), None)
    if info is None:
        raise RecipeError(filename, "it has no METADATA", "remove it from the cache")
    metadata = email.parser.BytesParser().parsebytes(files[f"{info}/METADATA"].data)
    pure = filename.endswith("-none-any.whl")
    site = "site-packages" if pure else f"lib/python{PYTHON}/site-packages"
    tree = {_place(path, site, pure): entry for path, entry in files.items() if path != f"{info}/RECORD"}
    tree[f"{site}/{info}/INSTALLER"] = Entry(b"conda")
    points = files.get(f"{info}/entry_points.txt", Entry())
    return Wheel(hashlib.sha256(data).hexdigest(), pure, metadata, entry_points(points.data.decode()), tree)


def entry_points(text: str) -> tuple[str, ...]:
    """The console scripts of an ``entry_points.txt`` as conda writes them: ``command = module:function``."""
    parser = configparser.ConfigParser(delimiters="=", interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep the case
    parser.read_string(text)
    scripts = parser["console_scripts"] if parser.has_section("console_scripts") else {}
    return tuple(f"{command} = {reference.split('[')[0].strip()}" for command, reference in sorted(scripts.items()))


def wheel_package(wheel: Wheel, available: Collection[str], architecture: Architecture) -> Package:
    """Make the conda package of a wheel; requirements on projects that are not ``available`` are left out."""
    depends = [f"python {PYTHON}.*" if not wheel.pure else "python >=3.9"]
    depends += requirements(wheel.metadata.get_all("Requires-Dist") or [], available, architecture)
    glibc = required_glibc(wheel.tree)
    if glibc:
        depends.append(f"__glibc >={glibc},<3.0.a0")
    scripts = {} if wheel.pure else _scripts(wheel.entry_points)
    return Package(
        name=conda_name(wheel.name),
        version=str(wheel.metadata["Version"]),
        build="pyh" if wheel.pure else f"py{PYTHON.replace('.', '')}h",
        subdir="noarch" if wheel.pure else architecture.subdir,
        license=spdx_licence(wheel.metadata),
        tree={**wheel.tree, **scripts},
        depends=tuple(depends),
        noarch="python" if wheel.pure else None,
        placeholders=dict.fromkeys(scripts, Placeholder(LONG_PLACEHOLDER, "text")),
        entry_points=wheel.entry_points if wheel.pure else (),
        license_texts=_license_texts(wheel.tree),
        sources=(f"sha256:{wheel.sha256}",),
    )


def requirements(lines: Collection[str], available: Collection[str], architecture: Architecture) -> list[str]:
    """The match specs of ``Requires-Dist`` lines whose markers hold on Linux and this Python."""
    from pip._vendor.packaging.requirements import Requirement  # pip fetches the wheels: its copy spares a dependency

    environment = {
        "python_version": PYTHON,
        "python_full_version": f"{PYTHON}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "platform_machine": architecture.name,
        "platform_system": "Linux",
        "sys_platform": "linux",
        "os_name": "posix",
        "extra": "",
    }
    found = []
    for requirement in map(Requirement, lines):
        holds = requirement.marker is None or requirement.marker.evaluate(environment)
        if holds and canonical(requirement.name) in available:
            specifiers = sorted(str(item) for item in requirement.specifier if item.operator in {">=", ">", "<", "<="})
            found.append(f"{conda_name(requirement.name)} {','.join(specifiers)}".strip())
    return found


_CLASSIFIERS: Mapping[str, str] = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def spdx_licence(metadata: email.message.Message) -> str:
    """The licence that the metadata tell: the SPDX expression, a short ``License`` field, or the classifier."""
    short = str(metadata["License"] or "").strip()
    if metadata["License-Expression"]:
        return str(metadata["License-Expression"])
    for line in metadata.get_all("Classifier") or []:
        known = _CLASSIFIERS.get(str(line).rsplit(" :: ", maxsplit=1)[-1]) if str(line).startswith("License") else None
        if known:
            return known
    return short if re.fullmatch(r"[A-Za-z0-9.+-]{1,40}", short) else "LicenseRef-Unknown"


def _entry(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> Entry:
    data = archive.read(item)
    return Entry(data, executable=bool(item.external_attr >> 16 & 0o111) or data[:4] == b"\x7fELF")


def _place(path: str, site: str, pure: bool) -> str:
    match = _DATA.fullmatch(path)
    if match and match[1] in {"scripts", "data", "headers"}:
        below = {"scripts": "bin/", "data": "", "headers": "include/"}[match[1]]
        path, site = below + match[2], "python-scripts" if pure and match[1] == "scripts" else ""
        path = path.removeprefix("bin/") if site else path
    elif match:
        path = match[2]
    place = posixpath.normpath(posixpath.join(site, path))
    if place.startswith(("../", "/")):
        raise RecipeError(path, "leads out of the wheel", "do not use this wheel")
    return place


def _scripts(points: tuple[str, ...]) -> Tree:
    """The console scripts of a package for one subdir, which has them as files."""
    tree: Tree = {}
    for point in points:
        command, reference = point.split(" = ")
        module, _, function = reference.partition(":")
        text = (
            f"#!{LONG_PLACEHOLDER}/bin/python{PYTHON}\nimport sys\n\nfrom {module} import {function.split('.')[0]}\n\n"
            f"if __name__ == '__main__':\n    sys.exit({function}())\n"
        )
        tree[f"bin/{command}"] = Entry(text.encode(), executable=True)
    return tree


def _license_texts(tree: Tree) -> dict[str, bytes]:
    pattern = re.compile(r".*\.dist-info/(?:licenses/)?((?:LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*)")
    return {match[1]: entry.data for path, entry in sorted(tree.items()) if (match := pattern.fullmatch(path))}
