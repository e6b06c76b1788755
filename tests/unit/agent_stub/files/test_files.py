from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from agent_stub.files.files import Files
from agent_stub.wire.operations.file import (
    FileList,
    FileMakeDirectory,
    FileMove,
    FileRead,
    FileRemove,
    FileStat,
    FileWrite,
)
from tests.kit.call import MemoryCall

files = Files()


@pytest.mark.parametrize(
    ("fields", "expected", "eof"),
    [
        ({}, b"0123456789", True),
        ({"offset": 4}, b"456789", True),
        ({"offset": 4, "length": 3}, b"456", False),
        ({"offset": 4, "length": 6}, b"456789", True),
        ({"offset": 99}, b"", True),
        ({"length": 0}, b"", False),
    ],
)
async def test_read(tmp_path: Path, fields: dict[str, int], expected: bytes, eof: bool) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    answer = await files.read(FileRead(path=str(tmp_path / "f"), **fields), MemoryCall())
    assert (answer.raw, answer.body.size, answer.body.file_size, answer.body.eof) == (
        (expected,),
        len(expected),
        10,
        eof,
    )


async def test_read_streams_pieces_of_a_mebibyte(tmp_path: Path) -> None:
    data = os.urandom(2_500_000)
    (tmp_path / "f").write_bytes(data)
    call = MemoryCall()
    async with asyncio.timeout(10):
        answer = await files.read(FileRead(path=str(tmp_path / "f"), stream=True), call)
    assert answer.raw == ()
    assert [body.offset for _, body, _ in call.events] == [0, 1 << 20, 2 << 20]
    assert call.streamed("data") == data


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda p: None, FileNotFoundError),
        (lambda p: p.mkdir(), IsADirectoryError),
        (lambda p: p.symlink_to(p), OSError),
    ],
    ids=["missing", "directory", "loop"],
)
async def test_read_of_what_cannot_be_read(tmp_path: Path, make, error: type[OSError]) -> None:  # type: ignore[no-untyped-def]
    make(tmp_path / "f")
    with pytest.raises(error):
        await files.read(FileRead(path=str(tmp_path / "f")), MemoryCall())


async def test_read_of_a_fifo_ends(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")
    async with asyncio.timeout(5):
        answer = await files.read(FileRead(path=str(tmp_path / "f")), MemoryCall())
    assert answer.raw == (b"",)


async def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xfe"
    await files.write(FileWrite(path=path), MemoryCall(b"data"))
    answer = await files.read(FileRead(path=path), MemoryCall())
    assert answer.raw == (b"data",)
    listed = await files.list(FileList(path=str(tmp_path)), MemoryCall())
    assert [row.name for row in listed.body.entries] == [b"\xff\xfe"]


async def test_write_makes_parents_and_joins_frames(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    answer = await files.write(FileWrite(path=str(path)), MemoryCall(b"one", b"", b"two"))
    assert (answer.body.size, path.read_bytes()) == (6, b"onetwo")
    assert os.listdir(path.parent) == ["b"]


async def test_write_keeps_mode_and_takes_a_mode(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o751)
    await files.write(FileWrite(path=str(path)), MemoryCall(b"new"))
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o751)
    await files.write(FileWrite(path=str(path), mode=0o600), MemoryCall(b"new"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.root
async def test_write_keeps_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    await files.write(FileWrite(path=str(path)), MemoryCall(b"new"))
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


async def test_write_through_a_symlink_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "l").symlink_to("f")
    await files.write(FileWrite(path=str(tmp_path / "l")), MemoryCall(b"new"))
    assert (tmp_path / "l").is_symlink()
    assert (tmp_path / "f").read_bytes() == b"new"


async def test_append_and_create_only(tmp_path: Path) -> None:
    path = str(tmp_path / "f")
    await files.write(FileWrite(path=path, create_only=True), MemoryCall(b"a"))
    await files.write(FileWrite(path=path, append=True), MemoryCall(b"b"))
    with pytest.raises(FileExistsError):
        await files.write(FileWrite(path=path, create_only=True), MemoryCall(b"c"))
    assert Path(path).read_bytes() == b"ab"
    assert os.listdir(tmp_path) == ["f"]


async def test_list_sorted_limited_recursive(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c", "a", "b/x"):
        (tmp_path / name).touch()
    (tmp_path / "d").symlink_to("a")
    rows = (await files.list(FileList(path=str(tmp_path)), MemoryCall())).body
    assert [(row.name, row.type, row.target) for row in rows.entries] == [
        ("a", "file", None),
        ("b", "directory", None),
        ("c", "file", None),
        ("d", "symlink", "a"),
    ]
    some = (await files.list(FileList(path=str(tmp_path), limit=2), MemoryCall())).body
    assert (len(some.entries), some.truncated) == (2, True)
    deep = (await files.list(FileList(path=str(tmp_path), recursive=True), MemoryCall())).body
    assert {row.name for row in deep.entries} == {"a", "b", "c", "d", "b/x"}


async def test_stat_follows_on_request(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    (tmp_path / "l").symlink_to("f")
    link = (await files.stat(FileStat(path=str(tmp_path / "l")), MemoryCall())).body
    target = (await files.stat(FileStat(path=str(tmp_path / "l"), follow=True), MemoryCall())).body
    assert (link.type, link.target, target.type, target.size) == ("symlink", "f", "file", 3)


async def test_remove(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "l").symlink_to("d")
    with pytest.raises(OSError, match="not empty"):
        await files.remove(FileRemove(path=str(tmp_path / "d")), MemoryCall())
    await files.remove(FileRemove(path=str(tmp_path / "l"), recursive=True), MemoryCall())
    assert (tmp_path / "d" / "e").is_dir()
    await files.remove(FileRemove(path=str(tmp_path / "d"), recursive=True), MemoryCall())
    with pytest.raises(FileNotFoundError):
        await files.remove(FileRemove(path=str(tmp_path / "d")), MemoryCall())
    await files.remove(FileRemove(path=str(tmp_path / "d"), missing_ok=True), MemoryCall())


async def test_move(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    request = FileMove(source=str(tmp_path / "a"), target=str(tmp_path / "b"))
    with pytest.raises(FileExistsError):
        await files.move(request, MemoryCall())
    await files.move(FileMove(source=request.source, target=request.target, overwrite=True), MemoryCall())
    assert (os.listdir(tmp_path), (tmp_path / "b").read_bytes()) == (["b"], b"a")


async def test_mkdir(tmp_path: Path) -> None:
    path = str(tmp_path / "a" / "b")
    with pytest.raises(FileNotFoundError):
        await files.mkdir(FileMakeDirectory(path=path, parents=False), MemoryCall())
    await files.mkdir(FileMakeDirectory(path=path), MemoryCall())
    await files.mkdir(FileMakeDirectory(path=path), MemoryCall())
    with pytest.raises(FileExistsError):
        await files.mkdir(FileMakeDirectory(path=path, parents=False), MemoryCall())
