"""Floors: the same work by the barest means on this machine, in this run."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tools.benches.row import timed

_PEER = """
import sys, zmq, msgpack
from tools.benches.floors import RawShell
work = {"echo": lambda: None, "shell": None}[sys.argv[2]]
if work is None:
    shell = RawShell()
    work = lambda: shell.run(b"echo hi\\n", b"hi\\n")
socket = zmq.Context().socket(zmq.ROUTER)
socket.bind(sys.argv[1])
print(socket.get_string(zmq.LAST_ENDPOINT), flush=True)
while True:
    frames = socket.recv_multipart()
    body = msgpack.unpackb(frames[2])
    work()
    socket.send_multipart([frames[0], frames[1], msgpack.packb(body)])
"""


@contextmanager
def _peer(bind: str, work: str) -> Iterator[str]:
    """A process that answers messages with their own bodies, by blocking calls, after ``work``; yields its endpoint."""
    process = subprocess.Popen([sys.executable, "-c", _PEER, bind, work], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip().rstrip("\0")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def round_trips(transport: str, count: int, work: str = "echo") -> list[float]:
    """Milliseconds of ZeroMQ + msgpack round trips between two processes; ``transport`` is ipc or tcp.

    With ``shell`` as the work, the other process has a bare shell on a pty print something before it answers.
    """
    import msgpack
    import zmq

    with tempfile.TemporaryDirectory() as folder, zmq.Context() as context:
        bind = f"ipc://{folder}/s" if transport == "ipc" else "tcp://127.0.0.1:*"
        with _peer(bind, work) as endpoint, context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            socket.connect(endpoint)
            body = msgpack.packb({"command": "echo hi", "session": "main"})

            def once() -> None:
                socket.send_multipart([b"header", body])
                msgpack.unpackb(socket.recv_multipart()[1])

            return timed(once, count)


class RawShell:
    """bash on a pty with echo off, read until the expected bytes: what a command costs when nothing is checked."""

    def __init__(self) -> None:
        self.master, slave = os.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={"PATH": os.environ["PATH"], "PS1": "", "TERM": "dumb"},
        )
        os.close(slave)

    def run(self, line: bytes, until: bytes) -> int:
        """Type a line and read until ``until`` ends the output; returns the bytes read."""
        os.write(self.master, line)
        tail, total = b"", 0
        while until not in tail:
            select.select([self.master], [], [])
            piece = os.read(self.master, 1 << 16)
            total += len(piece)
            tail = (tail + piece)[-64:]
        return total

    def close(self) -> None:
        """End the shell."""
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def raw_output_rate(size: int) -> float:
    """MB/s of a command's output read from a bare pty."""
    shell = RawShell()
    try:
        began = time.perf_counter()
        shell.run(f"head -c {size} /dev/zero | tr '\\0' a; echo; echo END\n".encode(), b"END\n")
        return size / 1e6 / (time.perf_counter() - began)
    finally:
        shell.close()


def spawn_true(count: int) -> list[float]:
    """Milliseconds of posix_spawn and wait of ``true``."""

    def once() -> None:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)

    return timed(once, count)
