from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_stub.output.spill import Spill, SpillFolder
from agent_stub.output.window import Window


@given(limit=st.integers(0, 60), pieces=st.lists(st.binary(max_size=50), max_size=12))
def test_window_is_head_and_tail(limit: int, pieces: list[bytes]) -> None:
    window = Window(limit)
    for piece in pieces:
        window.write(piece)
    whole = b"".join(pieces)
    half = limit // 2
    kept = whole if len(whole) <= limit else whole[:half] + whole[len(whole) - (limit - half) :]
    assert window.content() == kept
    assert (window.size, window.omitted) == (len(whole), max(0, len(whole) - limit))
    assert window.head == min(len(whole), half)


def test_window_memory_is_bounded() -> None:
    window = Window(1000)
    for _ in range(2000):
        window.write(b"x" * 65536)
    assert len(window._tail) < 3 * 1000 + 2 * 65536


def _folder(parent: Path, monkeypatch: pytest.MonkeyPatch) -> SpillFolder:
    monkeypatch.setenv("TMPDIR", str(parent))
    return SpillFolder()


def test_spill_has_all_of_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill = Spill(_folder(tmp_path, monkeypatch))
    spill.write(b"one", omitting=False)
    assert list(tmp_path.iterdir()) == []
    spill.write(b"two", omitting=True)
    spill.write(b"three", omitting=True)
    spill.close()
    assert spill.path is not None
    file = Path(spill.path)
    assert file.read_bytes() == b"onetwothree"
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)


def test_nothing_writable_means_no_spill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.mkdtemp", _refuse)
    spill = Spill(_folder(tmp_path, monkeypatch))
    spill.write(b"data", omitting=True)
    spill.close()
    assert spill.path is None


def _refuse(**_options: object) -> str:
    raise PermissionError(13, "read-only")
