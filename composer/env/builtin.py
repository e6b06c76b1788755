"""The specs that come with composer, by name: ``core`` and the like, or a path to anybody's own."""

from __future__ import annotations

from pathlib import Path

from composer.env.spec import EnvironmentSpec, merge
from composer.errors import SpecError


def folder() -> Path:
    """Where the built-in specs are: ``envspecs`` beside the package, in the source tree as in ``site-packages``."""
    return Path(__file__).parents[2] / "envspecs"


def names() -> tuple[str, ...]:
    """The names that `find` knows."""
    return tuple(sorted(path.parent.name for path in folder().glob("*/environment.yml")))


def find(name: str) -> Path:
    """The ``environment.yml`` of a built-in spec, of a folder or by its path; raises `SpecError`."""
    if "/" not in name and not name.endswith((".yml", ".yaml")):
        path = folder() / name / "environment.yml"
    else:
        path = Path(name)
        path = path / "environment.yml" if path.is_dir() else path
    if not path.is_file():
        raise SpecError(name, "is no environment", f"use one of {', '.join(names())} or the path of an environment.yml")
    return path


def load(name: str) -> EnvironmentSpec:
    """The spec, or the merge of several: ``core,ipython``; raises `SpecError`."""
    return merge([EnvironmentSpec.load(find(part.strip())) for part in name.split(",")])


def lock_path(name: str) -> Path | None:
    """The ``conda-lock.yml`` beside a single spec, when there is one."""
    if "," in name:
        return None
    path = find(name).with_name("conda-lock.yml")
    return path if path.is_file() else None
