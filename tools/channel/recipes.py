"""The table of what the channel is made of: which Debian packages give which conda package."""

from __future__ import annotations

from dataclasses import dataclass

SUITE = "bookworm"  # the packages are compiled for its glibc, 2.36; all run on newer ones
GLIBC_SUITES = {"old": "bookworm", "current": "trixie"}  # 2.36 and 2.41
PYTHON = "3.11"
GROUPS = ("core", "ipython")  # a group is a file wheels/GROUP.txt, and the recipes with its name; core is always there
CONDA_NAMES = {  # PyPI's normalised name -> conda-forge's, where they differ
    "ipython-pygments-lexers": "ipython_pygments_lexers",
    "jupyter-client": "jupyter_client",
    "jupyter-core": "jupyter_core",
    "msgpack": "msgpack-python",
    "pure-eval": "pure_eval",
    "stack-data": "stack_data",
    "typing-extensions": "typing_extensions",
    "tzdata": "python-tzdata",
}


@dataclass(frozen=True)
class DebRecipe:
    """One conda package out of Debian packages; the first one gives the version.

    ``licence`` is the SPDX expression of what is shipped. ``layout`` names the step of ``layouts.py`` that
    gives the files their final places; ``noarch`` says that no file depends on the CPU.
    """

    name: str
    debs: tuple[str, ...]
    licence: str
    depends: tuple[str, ...] = ()
    layout: str = ""
    noarch: bool = False
    group: str = "core"


DEB_RECIPES = (
    DebRecipe("bash", ("bash",), "GPL-3.0-or-later", ("ncurses",)),
    DebRecipe("bzip2", ("libbz2-1.0",), "bzip2-1.0.6"),
    DebRecipe("ca-certificates", ("ca-certificates",), "MPL-2.0", layout="ca_certificates", noarch=True),
    DebRecipe("libexpat", ("libexpat1",), "MIT"),
    DebRecipe("libffi", ("libffi8",), "MIT"),
    DebRecipe("libgcc", ("libgcc-s1", "libatomic1"), "GPL-3.0-only WITH GCC-exception-3.1"),
    DebRecipe("liblzma", ("liblzma5",), "0BSD"),
    DebRecipe("libsqlite", ("libsqlite3-0",), "blessing", ("libzlib",)),
    DebRecipe("libstdcxx", ("libstdc++6",), "GPL-3.0-only WITH GCC-exception-3.1", ("libgcc",)),
    DebRecipe("libuuid", ("libuuid1",), "BSD-3-Clause"),
    DebRecipe("libxcrypt", ("libcrypt1",), "LGPL-2.1-or-later"),
    DebRecipe("libzlib", ("zlib1g",), "Zlib"),
    DebRecipe("ncurses", ("libtinfo6", "libncursesw6", "ncurses-base"), "X11 AND BSD-3-Clause", layout="ncurses"),
    DebRecipe("openssl", ("libssl3", "openssl"), "Apache-2.0", ("ca-certificates",), layout="openssl"),
    DebRecipe(
        "python",
        ("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "python3.11"),
        "Python-2.0",
        (
            "bzip2", "libexpat", "libffi", "liblzma", "libsqlite", "libuuid", "libxcrypt", "libzlib", "ncurses",
            "openssl", "readline", "tzdata",
        ),
        layout="python",
    ),
    DebRecipe("readline", ("libreadline8",), "GPL-3.0-or-later", ("ncurses",)),
    DebRecipe("tzdata", ("tzdata",), "LicenseRef-Public-Domain", layout="tzdata", noarch=True),
)  # fmt: skip
