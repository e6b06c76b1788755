from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_stub.process.descriptors import seal
from agent_stub.process.tree import descendants, kill_known, kill_tree, now_tick, signal_tree, start_tick

_FAMILY = "(sleep 60 & exec sleep 60) & echo ready; wait"


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with a child that has a child."""
    with subprocess.Popen(["sh", "-c", _FAMILY], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while len(descendants(process.pid)) < 2:
            time.sleep(0.01)
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def test_descendants_come_parents_first(family: subprocess.Popen[bytes]) -> None:
    assert sorted(descendants(family.pid)) == descendants(family.pid)
    assert len(descendants(family.pid)) == 2


def test_earlier_processes_are_left_out(family: subprocess.Popen[bytes]) -> None:
    assert descendants(family.pid, since=now_tick() + 2) == []
    assert signal_tree(family.pid, signal.SIGKILL, with_root=False, since=now_tick() + 2) == 0


def test_kill_tree_keeps_the_root(family: subprocess.Popen[bytes]) -> None:
    assert kill_tree(family.pid) >= 2
    assert descendants(family.pid) == []


def test_another_process_with_a_known_pid_is_spared(family: subprocess.Popen[bytes]) -> None:
    below = descendants(family.pid)
    kill_known({pid: (start_tick(pid) or 0) - 1 for pid in below})
    kill_known(dict.fromkeys(below))
    assert descendants(family.pid) == below
    kill_known({pid: start_tick(pid) for pid in below})
    assert descendants(family.pid) == []


def test_no_start_of_a_process_that_is_gone() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        assert start_tick(process.pid) is None


def test_environment_without_proc_is_the_same() -> None:
    script = (
        "import os; os.environ['LATER'] = '1'; from agent_stub.process import environment as e;"
        "rows = dict(r.split(b'=', 1) for r in e._stack_block().split(b'\\0'));"
        "assert {os.fsdecode(k): os.fsdecode(v) for k, v in rows.items()} == e.image_environment();"
        "assert 'LATER' not in e.image_environment() and 'LC_CTYPE' not in e.image_environment()"
    )
    env = {"A": "1=2", "EMPTY": "", "PYTHONPATH": str(Path.cwd())}
    subprocess.run([sys.executable, "-c", script], env=env, check=True)


def test_seal() -> None:
    reading, writing = os.pipe()
    try:
        os.set_inheritable(writing, True)
        seal()
        assert not os.get_inheritable(writing)
        assert os.get_inheritable(2)
    finally:
        os.close(reading)
        os.close(writing)
