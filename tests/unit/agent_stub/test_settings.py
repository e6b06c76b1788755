"""The agent's command line and control directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_stub.settings import Settings, SettingsError, endpoints, parse_argv, read_token

TOKEN = b"0123456789abcdef"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        pytest.param([], Settings(), id="defaults"),
        pytest.param(["--control", "/c"], Settings("/c"), id="two-words"),
        pytest.param(["--control=/c"], Settings("/c"), id="one-word"),
        pytest.param(["--bind", "tcp://a", "--bind=tcp://b"], Settings(bind=("tcp://a", "tcp://b")), id="repeated"),
        pytest.param(["--token-fd", "3"], Settings(token_fd=3), id="descriptor"),
        pytest.param(["--token-file", "/t"], Settings(token_file="/t"), id="file"),
    ],
)
def test_arguments(argv: list[str], expected: Settings) -> None:
    assert parse_argv(argv) == expected


@pytest.mark.parametrize("argv", [["--what"], ["--bind"], ["word"], ["--token-fd", "x"], ["--class", "y"]])
def test_wrong_arguments(argv: list[str]) -> None:
    with pytest.raises(SettingsError):
        parse_argv(argv)


def test_the_token_of_the_control_directory_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(TOKEN + b"\n")
    assert read_token(Settings(str(tmp_path))) == TOKEN
    assert not (tmp_path / "token").exists()
    assert read_token(Settings(str(tmp_path))) is None


def test_a_token_file_stays(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(TOKEN)
    assert read_token(Settings(str(tmp_path), token_file=str(tmp_path / "t"))) == TOKEN
    assert (tmp_path / "t").exists()


def test_a_token_from_a_descriptor(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, TOKEN)
    os.close(write)
    assert read_token(Settings(str(tmp_path), token_fd=read)) == TOKEN


def test_tokens_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"short")
    with pytest.raises(SettingsError, match="16 bytes"):
        read_token(Settings(str(tmp_path)))
    with pytest.raises(SettingsError, match="no such token file"):
        read_token(Settings(str(tmp_path), token_file=str(tmp_path / "none")))
    with pytest.raises(SettingsError, match="descriptor 999"):
        read_token(Settings(str(tmp_path), token_fd=999))


def test_where_it_listens(tmp_path: Path) -> None:
    ipc = f"ipc://{tmp_path}/agent.sock"
    tcp = "tcp://127.0.0.1:0"
    assert endpoints(Settings(str(tmp_path)), None) == [ipc]
    assert endpoints(Settings(str(tmp_path), (tcp,)), TOKEN) == [ipc, tcp]
    assert endpoints(Settings(str(tmp_path / "none"), (tcp,)), TOKEN) == [tcp]
    with pytest.raises(SettingsError, match="needs a token"):
        endpoints(Settings(str(tmp_path), (tcp,)), None)
    with pytest.raises(SettingsError, match="not a writable directory"):
        endpoints(Settings(str(tmp_path / "none")), TOKEN)
