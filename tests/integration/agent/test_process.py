"""The agent as a process: how it starts, what it says, how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from composer.client.agent import Agent
from composer.client.sandbox import Sandbox
from composer.errors import AgentLostError
from tests.kit.agent import ROOT, AgentProcess


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_it_says_that_it_is_ready(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        assert agent.notified == b"READY=1\n"
        assert agent.endpoints == [f"ipc://{tmp_path}/agent.sock"]
        assert len(agent.ready["boot_id"]) == 32
        assert not (tmp_path / "token").exists()


@pytest.mark.parametrize(("token", "mode"), [("", 0o666), (None, 0o600)], ids=["token", "no-token"])
def test_who_may_open_its_socket(tmp_path: Path, token: str | None, mode: int) -> None:
    with AgentProcess(tmp_path, token=token):
        assert stat.S_IMODE((tmp_path / "agent.sock").stat().st_mode) == mode


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--control", "{dir}/none"], "not a writable directory", id="no-control-directory"),
        pytest.param(["--control", "{dir}", "--bind", "tcp://127.0.0.1:*"], "needs a token", id="tcp-without-token"),
        pytest.param(["--control", "{dir}", "--bind", "ipc://{dir}/none/x"], "No such file", id="no-such-directory"),
        pytest.param(["--control", "{dir}", "--bind", "what"], "what", id="no-endpoint"),
        pytest.param(["--nonsense"], "unknown argument", id="unknown-argument"),
        pytest.param(["--control", "{dir}/" + "x" * 120], "", id="too-long-a-path"),
    ],
)
def test_it_says_in_a_line_why_it_cannot_start(tmp_path: Path, arguments: list[str], message: str) -> None:
    words = [word.format(dir=tmp_path) for word in arguments]
    if words[-1].endswith("xxx"):
        Path(words[-1]).mkdir()
    command = [sys.executable, "-m", "agent_stub", *words]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert ran.returncode == 64
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("how", ["shutdown", "SIGTERM", "SIGINT"])
async def test_it_ends_within_a_second_with_all_that_it_started(tmp_path: Path, how: str) -> None:
    with AgentProcess(tmp_path) as agent:
        async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
            started = await box.run("sleep 300 & echo $!; (setsid sleep 300 & echo $!)")
            pids = [int(word) for word in started.output.split() if word.isdigit()]
            busy = asyncio.create_task(box.run("sleep 300"))
            program = asyncio.create_task(box.exec(["sleep", "300"]))
            await asyncio.sleep(0.1)
            began = time.perf_counter()
            if how == "shutdown":
                await box.shutdown()
            else:
                agent.process.send_signal(signal.Signals[how])
            assert await asyncio.to_thread(agent.process.wait, 5) == 0
            assert time.perf_counter() - began < 1.0
            outcomes = await asyncio.gather(busy, program, return_exceptions=True)
    assert len(pids) >= 2
    assert not any(alive(pid) for pid in pids)
    assert all(outcome is not None for outcome in outcomes)
    assert "Traceback" not in agent.log


async def test_a_killed_agent_is_noticed_at_once(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        async with Sandbox.connect(agent.endpoints[0], agent.secret) as box:
            running = asyncio.create_task(box.run("sleep 300"))
            await asyncio.sleep(0.2)
            began = time.perf_counter()
            agent.process.kill()
            with pytest.raises(AgentLostError, match="the connection ended"):
                await running
            assert time.perf_counter() - began < 0.5
            with pytest.raises(AgentLostError):
                await box.hello()


async def test_another_agent_in_its_place_is_noticed(tmp_path: Path) -> None:
    secret = "0123456789abcdef" * 4
    with AgentProcess(tmp_path, token=secret) as first:
        box = await Sandbox.connect(first.endpoints[0], secret, patience=20)
        running = asyncio.create_task(box.run("sleep 300"))
        await asyncio.sleep(0.2)
        first.process.kill()
    (tmp_path / "notify").unlink()
    with AgentProcess(tmp_path, token=secret) as second:
        async with box:
            with pytest.raises(Exception, match="started again"):
                await running
            assert (await box.hello()).boot_id == second.ready["boot_id"]
            assert (await box.run("echo new")).output == "new\n"


async def test_from_a_zip_file_isolated(tmp_path: Path) -> None:
    archive = tmp_path / "agent.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((ROOT / "agent_stub").rglob("*.py")):
            file.write(path, path.relative_to(ROOT))
        file.writestr("__main__.py", "import sys\nfrom agent_stub.__main__ import main\nsys.exit(main())\n")
    token = tmp_path / "secret"
    token.write_text("0123456789abcdef")
    command = [sys.executable, "-I", str(archive), "--control", str(tmp_path), "--token-file", str(token)]
    process = subprocess.Popen(command, cwd="/", stderr=subprocess.PIPE, env={"LC_ALL": "C"})  # noqa: ASYNC220
    try:
        assert process.stderr
        assert process.stderr.readline().startswith(b'{"event": "ready"')
        async with Agent.connect(f"ipc://{tmp_path}/agent.sock", b"0123456789abcdef") as agent:
            assert (await agent.hello()).agent_digest.startswith("sha256:")
            await agent.call("shutdown", {})
        assert await asyncio.to_thread(process.wait, 5) == 0
    finally:
        process.kill()
        process.communicate()


async def test_a_token_over_a_descriptor(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"0123456789abcdef")
    os.close(write)
    command = [sys.executable, "-m", "agent_stub", "--control", str(tmp_path), "--token-fd", str(read)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, pass_fds=[read])  # noqa: ASYNC220
    os.close(read)
    try:
        assert process.stderr
        process.stderr.readline()
        async with Agent.connect(f"ipc://{tmp_path}/agent.sock", b"0123456789abcdef") as agent:
            await agent.hello()
    finally:
        process.terminate()
        process.communicate(timeout=10)
