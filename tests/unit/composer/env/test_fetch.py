from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from composer.env.fetch import PackageCache
from composer.env.lock import LockedPackage
from composer.errors import ChannelError, DigestMismatchError

DATA = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(DATA).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves DATA under every path; ``faults`` are used up by one request each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[str] = []
        self.requests: list[str | None] = []
        self.data = DATA

    def package(self, sha256: str = SHA256, name: str = "x-1-h0_0.conda") -> LockedPackage:
        return LockedPackage("linux-64", "x", "1", f"http://127.0.0.1:{self.server_port}/linux-64/{name}", sha256)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.requests.append(wanted)
        fault = self.server.faults.pop(0) if self.server.faults else ""
        data, start = self.server.data, 0
        if fault.isdigit():
            self.send_error(int(fault))
            return
        if wanted and fault != "no range":
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])  # type: ignore[index]
            if start >= len(data):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start : start + (1 << 18)] if fault == "truncated" else data[start:])
        self.close_connection = fault == "truncated"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fetch(cache: Path, *packages: LockedPackage, channels: tuple[str, ...] = ()) -> tuple[Path, ...]:
    return PackageCache(cache).fetch(packages, lambda *_: None, channels)


def test_archives_are_kept_by_digest(server: Server, tmp_path: Path):
    seen: list[tuple[str, int, int]] = []
    cache = PackageCache(tmp_path)
    for _ in range(2):
        (path,) = cache.fetch([server.package()], lambda *row: seen.append(row))
        assert path == tmp_path / SHA256 / "x-1-h0_0.conda"
        assert path.read_bytes() == DATA
    assert len(server.requests) == 1
    assert seen == [("fetch", 1, 1)] * 2


@pytest.mark.parametrize(
    ("faults", "ranges"),
    [
        (["truncated"], [None, "bytes=262144-"]),
        (["truncated", "truncated"], [None, "bytes=262144-", "bytes=524288-"]),
        (["truncated", "no range"], [None, "bytes=262144-"]),
        (["503"], [None, None]),
    ],
    ids=["resumes", "resumes twice", "server without ranges", "busy server"],
)
def test_interrupted_answers(server: Server, tmp_path: Path, faults: list[str], ranges: list[str | None]):
    server.faults = faults
    (path,) = fetch(tmp_path, server.package())
    assert path.read_bytes() == DATA
    assert server.requests == ranges


def test_a_killed_fetch_is_resumed(server: Server, tmp_path: Path):
    (tmp_path / SHA256).mkdir()
    (tmp_path / SHA256 / "part").write_bytes(DATA[:1000])
    assert fetch(tmp_path, server.package())[0].read_bytes() == DATA
    assert server.requests == ["bytes=1000-"]


@pytest.mark.parametrize("left", [b"garbage", DATA + b"more", DATA], ids=["garbage", "longer", "whole"])
def test_what_a_killed_fetch_left_is_not_believed(server: Server, tmp_path: Path, left: bytes):
    (tmp_path / SHA256).mkdir()
    (tmp_path / SHA256 / "part").write_bytes(left)
    assert fetch(tmp_path, server.package())[0].read_bytes() == DATA


def test_a_wrong_digest_is_an_error_and_leaves_nothing(server: Server, tmp_path: Path):
    with pytest.raises(DigestMismatchError, match=r"x-1-h0_0.conda: has sha256 .*the lock says 0000"):
        fetch(tmp_path, server.package("0" * 64))
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["lock"]


def test_local_files_are_checked_too(tmp_path: Path):
    (tmp_path / "linux-64").mkdir()
    (tmp_path / "linux-64/x-1-h0_0.conda").write_bytes(DATA)
    url = (tmp_path / "linux-64/x-1-h0_0.conda").as_uri()
    assert fetch(tmp_path / "c", LockedPackage("linux-64", "x", "1", url, SHA256))[0].read_bytes() == DATA
    with pytest.raises(DigestMismatchError):
        fetch(tmp_path / "c", LockedPackage("linux-64", "x", "1", url, "0" * 64))


def test_a_moved_channel(server: Server, tmp_path: Path):
    package = LockedPackage("linux-64", "x", "1", "file:///nonexistent/linux-64/x-1-h0_0.conda", SHA256)
    assert fetch(tmp_path, package, channels=(server.package().url.rsplit("/", 2)[0],))[0].read_bytes() == DATA


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///nonexistent/noarch/x-1-h0_0.conda", "No such file"),
        ("http://127.0.0.1:1/noarch/x-1-h0_0.conda", "refused"),
        ("http://name.invalid/noarch/x-1-h0_0.conda", "name.invalid"),
    ],
    ids=["file", "refused", "unknown host"],
)
def test_unreachable(tmp_path: Path, url: str, words: str):
    with pytest.raises(ChannelError, match=words) as caught:
        fetch(tmp_path, LockedPackage("linux-64", "x", "1", url, SHA256))
    assert "\n" not in str(caught.value)


def test_not_found_is_not_tried_again(server: Server, tmp_path: Path):
    server.faults = ["404"]
    with pytest.raises(ChannelError, match="404"):
        fetch(tmp_path, server.package())
    assert len(server.requests) == 1


def test_concurrent_fetches_of_one_archive_ask_once(server: Server, tmp_path: Path):
    with ThreadPoolExecutor(6) as pool:
        paths = list(pool.map(lambda _: fetch(tmp_path, server.package())[0], range(6)))
    assert {path.read_bytes() for path in paths} == {DATA}
    assert len(server.requests) == 1
