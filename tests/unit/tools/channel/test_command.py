from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.channel.__main__ import default_cache, main, parse
from tools.channel.build import Request


def test_a_foreign_directory_is_one_line_and_status_73(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["--out", str(tmp_path), "--json"]) == 73
    shown = capsys.readouterr()
    assert json.loads(shown.out)["error"]["code"] == "store"
    assert shown.err == f"channel: error: {tmp_path}: exists and is no channel of this tool; give another --out\n"


def test_no_apt_is_one_line_and_status_69(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tools.channel",
        "--out",
        str(tmp_path / "out"),
        "--cache",
        str(tmp_path / "cache"),
    ]
    environment = {**os.environ, "PATH": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode in {69, 75}  # apt-get or the wheels, whichever is missed first
    assert len([line for line in result.stderr.splitlines() if "error" in line]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [[], ["--out", "x", "--glibc", "2.17"], ["--out", "x", "--group", "none"]])
def test_a_wrong_command_line_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "composer-channel"


def test_another_request_has_another_digest() -> None:
    requests = [Request(), Request(fmt="bz2"), Request(glibc=("old",)), Request(groups=("core", "ipython"))]
    assert len({request.digest() for request in requests}) == len(requests)
    assert Request().digest() == Request().digest()
