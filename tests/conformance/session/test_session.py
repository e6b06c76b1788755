"""What every kind of shell does in a session: exact output, exit code and directory, whatever the text is."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path

import pytest

from agent_stub.wire.errors import WireError
from agent_stub.wire.operations.session import Input, Run
from tests.kit.call import MemoryCall
from tests.kit.shells import KINDS, ShellKind, opened, survivors

pytestmark = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)

EXACT = [
    ("echo hi", b"hi\n", 0),
    ("false", b"", 1),
    ("printf 'a\\0\\377\\rb'", b"a\0\xff\rb", 0),
    ("cat <<X\none\ntwo\nX", b"one\ntwo\n", 0),
    ("for i in 1 2; do echo $i; done", b"1\n2\n", 0),
    ("f() { return 3; }; f", b"", 3),
    ("cd /usr && pwd", b"/usr\n", 0),
    ("echo out; echo err >&2", b"out\nerr\n", 0),
    ("printf 'no newline'", b"no newline", 0),
    ("", b"", 0),
    ("# only a comment", b"", 0),
    ("printf '%s' \"$0$1\" | wc -l", b"0\n", 0),
    ("echo '\x03\x04\x11\x13\x1a'", b"\x03\x04\x11\x13\x1a\n", 0),
    ("stty raw; echo x", b"x\n", 0),
    ("set -e; true; set +e", b"", 0),
    ("exec 9</etc/hosts; head -c 3 <&9 >/dev/null", b"", 0),
]


@pytest.mark.parametrize(("text", "output", "code"), EXACT, ids=[repr(row[0])[:30] for row in EXACT])
async def test_exact(kind: ShellKind, tmp_path: Path, text: str, output: bytes, code: int) -> None:
    async with opened(kind, tmp_path) as session:
        answer = await session.run(text)
        assert (answer.raw[0], answer.body.exit_code, answer.body.state) == (output, code, "done")
        assert await session.output("echo next") == b"next\n"


@pytest.mark.parametrize("text", ["echo 'unclosed", "if", "echo a; )", "while true; do"])
async def test_syntax_error_is_told_apart(kind: ShellKind, tmp_path: Path, text: str) -> None:
    async with opened(kind, tmp_path) as session:
        pid = session.sessions._sessions["main"].shell.pid
        answer = await session.run(text)
        assert (answer.body.exit_code, answer.body.syntax, answer.body.state) == (2, True, "done")
        returned = await session.run("(exit 2)")
        assert (returned.body.exit_code, returned.body.syntax) == (2, False)
        assert await session.output("echo $$") == b"%d\n" % pid


async def test_exit_restarts_with_directory(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        answer = await session.run("cd /usr; exit 7")
        assert (answer.body.exit_code, answer.body.state, answer.body.restarted) == (7, "exited", True)
        assert (await session.run("true")).body.exit_code == 0


async def test_errexit_restarts(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.run("cd /usr; export KEPT=yes")
        answer = await session.run("set -e; false; echo never")
        assert (answer.raw[0], answer.body.exit_code, answer.body.restarted) == (b"", 1, True)
        assert await session.output("pwd") == b"/usr\n"
        if kind.bash:
            assert await session.output("echo $KEPT") == b"yes\n"


async def test_exec_of_a_program_replaces_the_shell(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        answer = await session.run("exec sh -c 'echo in; exit 4'")
        assert (answer.raw[0], answer.body.exit_code, answer.body.restarted) == (b"in\n", 4, True)
        assert await session.output("echo alive") == b"alive\n"


# The last of the pipeline says `go`: before it is there, ^C ends only the others, it reads their end and returns 0.
@pytest.mark.parametrize(
    "text", ["echo go; sleep 30", "echo go; while :; do :; done", "sleep 30 | sh -c 'echo go; exec cat'"]
)
async def test_interrupt(kind: ShellKind, tmp_path: Path, text: str) -> None:
    async with opened(kind, tmp_path) as session:
        call = MemoryCall()
        running = asyncio.create_task(session.run(text, stream=True, call=call))
        await call.first_event
        call.cancel("int")
        answer = await running
        assert (answer.body.exit_code, answer.body.state) == (130, "done")
        assert await session.output("echo back") == b"back\n"


@pytest.mark.parametrize("mode", ["term", "kill"])
async def test_stronger_cancels_end_a_program_that_ignores_interrupts(
    kind: ShellKind, tmp_path: Path, mode: str
) -> None:
    async with opened(kind, tmp_path) as session:
        call = MemoryCall()
        text = "sh -c 'trap \"\" INT; echo go; exec sleep 30'"
        running = asyncio.create_task(session.run(text, stream=True, call=call))
        await call.first_event
        call.cancel("int")
        call.cancel(mode)  # type: ignore[arg-type]
        assert (await running).body.exit_code in (143, 137)
        assert await session.output("echo back") == b"back\n"


async def test_typed_input_reaches_a_read(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        call = MemoryCall()
        running = asyncio.create_task(session.run("echo ask; read a; echo got-$a", stream=True, call=call))
        await call.first_event
        await session.sessions.input(Input(text="7\n"), MemoryCall())
        await running
        assert call.streamed() == b"ask\ngot-7\n"


async def test_type_ahead_is_never_executed(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        call = MemoryCall()
        running = asyncio.create_task(session.run("echo go; sleep 0.3", stream=True, call=call))
        await call.first_event
        await session.sessions.input(Input(text="touch ran\n"), MemoryCall())
        await running
        assert await session.output("ls ran 2>/dev/null; echo next") == b"next\n"


async def test_big_heredoc(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        text = "cat <<'END' | wc -c\n" + ("x" * 99 + "\n") * 14_000 + "END"
        assert (await session.output(text)).strip() == b"1400000"


async def test_private_descriptors_are_not_inherited(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        # 3 is that of `ls` itself; by path, since busybox runs its own without exec and close-on-exec.
        want = {b"0", b"1", b"2", b"3"}
        for text in ("/bin/ls /proc/self/fd", "/bin/ls /proc/self/fd & wait $! 2>/dev/null"):
            lines = set((await session.output(text)).split())
            assert {line for line in lines if line.isdigit()} == want


async def test_input_without_a_command_is_refused(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        with pytest.raises(WireError, match="no command"):
            await session.sessions.input(Input(text="touch ran\n"), MemoryCall())
        assert await session.output("echo next") == b"next\n"


async def test_background_output_between_commands_is_kept(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        os.mkfifo(tmp_path / "go")
        os.mkfifo(tmp_path / "done")
        await session.run(f"(read x <{tmp_path}/go; echo late; echo >{tmp_path}/done) & :")
        await asyncio.to_thread((tmp_path / "go").write_text, "x\n")
        await asyncio.to_thread((tmp_path / "done").read_text)
        answer = await session.run("echo now")
        assert answer.raw[0] == b"now\n"
        assert b"late\n" in answer.raw[1]
        assert answer.body.earlier == len(answer.raw[1])


async def test_removed_directory(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        gone = tmp_path / "gone"
        answer = await session.run(f"mkdir {gone}; cd {gone}; rmdir {gone}; echo here")
        assert (answer.raw[0], answer.body.cwd) == (b"here\n", str(gone))
        await session.run("exit")
        assert await session.output("pwd") == b"%s\n" % str(tmp_path).encode()


async def test_hard_timeout_leaves_no_survivor(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        # A number that only this test's processes have as an argument.
        mark = f"{1000 + uuid.uuid4().int % 10**9}"
        text = (
            f"trap '' INT TERM; (setsid sh -c 'trap \"\" INT TERM; sleep {mark} & sleep {mark}' & ); sleep {mark}; "
            f"while :; do sleep {mark}; done"
        )
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = await session.run(text, timeout=0.3)
        assert answer.body.timed_out
        assert loop.time() - began < 3.5
        assert await survivors(mark) == []
        assert await session.output("trap - INT TERM; echo back") == b"back\n"


async def test_soft_timeout_then_collected(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        first = await session.run("echo one; sleep 0.4; echo two", soft_timeout=0.1)
        assert (first.body.state, first.body.exit_code, first.raw[0]) == ("running", None, b"one\n")
        with pytest.raises(WireError, match="busy"):
            await session.run("echo other", wait=False)
        last = await session.run("")
        assert (last.body.state, last.body.exit_code, last.raw[0]) == ("done", 0, b"one\ntwo\n")


async def test_commands_queue_in_order(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        answers = await asyncio.gather(*(session.run(f"sleep 0.02; echo {n}") for n in range(5)))
        assert [answer.raw[0] for answer in answers] == [b"%d\n" % n for n in range(5)]


async def test_output_beyond_the_limit_is_spilt(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        answer = await session.run("seq 1 100000", limit=1000)
        whole = b"".join(b"%d\n" % n for n in range(1, 100001))
        body = answer.body
        assert answer.raw[0] == whole[:500] + whole[-500:]
        assert (body.size, body.omitted, body.head) == (len(whole), len(whole) - 1000, 500)
        spill = Path(body.spill)
        assert spill.read_bytes() == whole
        assert (spill.stat().st_mode & 0o777, spill.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_fields_come_first_and_stay(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        assert await session.output('echo "$PWD $A"', cwd="/usr", env={"A": "it's\n$1"}) == b"/usr it's\n$1\n"
        assert await session.output('echo "$PWD $A"') == b"/usr it's\n$1\n"
        wrong = await session.run("echo never", cwd="/no/such")
        assert b"never" not in wrong.raw[0]
        assert wrong.body.exit_code != 0


async def test_environment_is_the_images(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        names = {line.split(b"=")[0] for line in (await session.output("env -0 | tr '\\n\\0' ' \\n'")).splitlines()}
        image = {line.split(b"=")[0] for line in Path("/proc/self/environ").read_bytes().split(b"\0") if line}
        added = names - image
        assert added <= {b"TERM", b"PAGER", b"GIT_PAGER", b"SHLVL", b"PWD", b"OLDPWD", b"_", b"PATH"}


async def test_xtrace_shows_only_the_users_lines(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.run("set -x")
        answer = await session.run("echo x")
        lines = answer.raw[0].splitlines()
        assert [line.lstrip(b"+ ") for line in lines] == [b"echo x", b"x"]
        assert len(answer.raw) == 1
        await session.run("set +x")
        assert await session.output("echo y") == b"y\n"


async def test_own_prompt_is_never_output(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        await session.run("PS1='P> '; PROMPT_COMMAND='echo noise'")
        for _ in range(3):
            assert await session.output("echo quiet") == b"quiet\n"


async def test_nul_is_refused(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        with pytest.raises(WireError, match="NUL"):
            await session.run(b"echo a\0b")
        assert await session.output("echo next") == b"next\n"


async def test_a_cancelled_waiter_leaves_the_session_whole(kind: ShellKind, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as session:
        slow = asyncio.create_task(session.run("sleep 0.3; echo slow"))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(session.sessions.run(Run(command="touch never"), MemoryCall()))
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await slow).raw[0] == b"slow\n"
        assert await session.output("ls never 2>/dev/null; echo next") == b"next\n"
