"""The agent as a process of this machine, from the source tree."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]


class AgentProcess:
    """``python -m agent_stub`` with a control directory; entered when it has said that it is ready."""

    def __init__(self, control: Path, *arguments: str, token: str | None = "") -> None:
        self.control = control
        self.token = secrets.token_hex(32) if token == "" else token
        self.log = ""
        self.ready: dict[str, Any] = {}
        self.notified = b""
        self._arguments = arguments

    @property
    def secret(self) -> bytes | None:
        """The token as clients need it."""
        return self.token.encode() if self.token else None

    @property
    def endpoints(self) -> list[str]:
        """Where it listens, the control directory's socket first."""
        return list(self.ready["endpoints"])

    def __enter__(self) -> Self:
        if self.token:
            (self.control / "token").write_text(self.token)
        command = [sys.executable, "-m", "agent_stub", "--control", str(self.control), *self._arguments]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(self.control / "notify"))
            notify.settimeout(20)
            self.process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stderr=subprocess.PIPE, text=True
            )
            assert self.process.stderr
            self.ready = json.loads(self.process.stderr.readline())
            self.notified = notify.recv(100)
        return self

    def __exit__(self, *_exception: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            _, self.log = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
