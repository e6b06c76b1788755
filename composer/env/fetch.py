"""Package archives, kept by digest: fetched in parallel, resumed after an interruption, never believed unchecked."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote, urlsplit

from composer.env.channel import redacted, unreachable
from composer.env.lock import LockedPackage
from composer.errors import ChannelError, DigestMismatchError
from composer.progress import Progress
from composer.store.disk import disk_errors
from composer.store.lock import locked

if TYPE_CHECKING:
    import requests


_AT_ONCE = 8
_ATTEMPTS = 3
_CHUNK = 1 << 16
_TIMEOUT = (5.0, 30.0)  # seconds to connect, and between two reads


@dataclass(frozen=True, slots=True)
class PackageCache:
    """The folder ``packages`` of a store: ``HEX/name-version-build.conda``, with ``lock`` and ``part`` beside it."""

    root: Path

    def path(self, package: LockedPackage) -> Path:
        """Where the archive is or would be."""
        return self.root / package.sha256 / package.file_name

    def fetch(
        self, packages: Sequence[LockedPackage], progress: Progress, channels: Sequence[str] = ()
    ) -> tuple[Path, ...]:
        """Have all archives here, in the order given; ``progress`` counts archives.

        An archive that its URL does not give is looked for in ``channels`` too: a lock of a local channel may be used
        where that channel has another folder. Raises `ChannelError`, `DigestMismatchError`, `StoreError`.
        """
        done = 0
        paths: list[Path] = []
        with ThreadPoolExecutor(_AT_ONCE, "fetch") as pool, _session() as session:
            try:
                for path in pool.map(lambda package: self._one(package, session, channels), packages):
                    paths.append(path)
                    done += 1
                    progress("fetch", done, len(packages))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return tuple(paths)

    def _one(self, package: LockedPackage, session: requests.Session, channels: Sequence[str]) -> Path:
        path = self.path(package)
        if path.is_file():  # it appeared by rename after its check
            return path
        with disk_errors(self.root), locked(path.with_name("lock")):
            if path.is_file():
                return path
            part = path.with_name("part")
            urls = [package.url]
            urls += [f"{c}/{package.subdir}/{package.file_name}" for c in channels if "://" in c]
            self._from_any(urls, part, package, session)
            part.replace(path)
        return path

    def _from_any(self, urls: Sequence[str], part: Path, package: LockedPackage, session: requests.Session) -> None:
        for place, url in enumerate(urls):
            try:
                return _download(url, part, package.sha256, session)
            except ChannelError:
                if place + 1 == len(urls):
                    raise
        return None


def _download(url: str, part: Path, sha256: str, session: requests.Session) -> None:
    """Complete ``part``; bytes that an earlier, interrupted call left are kept unless the result is wrong."""
    for attempt in range(_ATTEMPTS):
        resumed = part.exists() and part.stat().st_size > 0
        try:
            if urlsplit(url).scheme == "file":
                _copy(url, part)
            else:
                _receive(url, part, session)
        except (OSError, _TruncatedError) as error:  # requests' exceptions are OSErrors
            if _isdisk_errors(error) or attempt + 1 == _ATTEMPTS or not _worth_another(error):
                raise error if _isdisk_errors(error) else unreachable(url, _reason(error)) from error
            continue
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found == sha256:
            return
        part.unlink()
        if not resumed:
            raise DigestMismatchError(
                redacted(url), f"has sha256 {found}, the lock says {sha256}", "run `composer lock` again"
            )


class _TruncatedError(Exception):
    """The server ended before the promised length."""


def _copy(url: str, part: Path) -> None:
    with Path(unquote(urlsplit(url).path)).open("rb") as source, part.open("wb") as target:
        shutil.copyfileobj(source, target, _CHUNK)


def _receive(url: str, part: Path, session: requests.Session) -> None:
    have = part.stat().st_size if part.exists() else 0
    # identity: a Range counts the bytes as they are sent
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with session.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
        if answer.status_code == 416:  # there is no more: whole already, or not the same file; the digest decides
            return
        answer.raise_for_status()
        resumes = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        expected = int(answer.headers.get("Content-Length", -1))
        with part.open("ab" if resumes else "wb") as file:
            received = _pour(answer, file)
        if 0 <= received < expected:
            raise _TruncatedError(f"{received} of {expected} bytes came")


def _pour(answer: requests.Response, file: BinaryIO) -> int:
    count = 0
    for chunk in answer.iter_content(_CHUNK):
        file.write(chunk)
        count += len(chunk)
    return count


@contextmanager
def _session() -> Iterator[requests.Session]:
    import requests

    with requests.Session() as session:
        session.headers["User-Agent"] = "composer"
        yield session


def _worth_another(error: Exception) -> bool:
    """Whether the same request may succeed: not after a 404, an unknown host or a missing file."""
    import requests

    if isinstance(error, requests.HTTPError):
        return error.response.status_code >= 500 or error.response.status_code == 429
    return isinstance(error, _TruncatedError | requests.exceptions.ChunkedEncodingError | requests.Timeout) or (
        isinstance(error, requests.ConnectionError) and "resolve" not in str(error) and "refused" not in str(error)
    )


def _isdisk_errors(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def _reason(error: Exception) -> str:
    """One short line: requests nests the socket's own words deep inside."""
    text = str(getattr(error, "strerror", None) or error)
    inner = text.rsplit("Error(", 1)[-1] if "Error(" in text else text
    return " ".join(inner.split())[-160:].strip("()\"'") or type(error).__name__
