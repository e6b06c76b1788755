"""Starts the agent: command line, sockets, signals, its word that it is ready, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence

from agent_stub.builtin import Builtin
from agent_stub.router import Router
from agent_stub.server import Identity, Server
from agent_stub.settings import Settings, SettingsError, endpoints, parse_argv, read_token
from agent_stub.wire.limits import Limits

GRACE = 0.5  # seconds; SIGTERM ends the agent within one

WARM = 0.1  # seconds until the shell engine is imported and orphans are reaped


class Agent:
    """The running agent: binds, answers until it is told to stop, and ends what it started."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._token = read_token(settings)
        self._limits = Limits()
        self._boot_id = os.urandom(16).hex()
        self._stopped = asyncio.Event()
        self._grace = GRACE

    async def run(self) -> None:
        """Answer until a signal or `shutdown`; raises `SettingsError` when it cannot listen."""
        wanted = endpoints(self._settings, self._token)
        builtin = Builtin(self._boot_id, self._limits, self._stop)
        router = Router(self._limits)
        identity = Identity(self._boot_id, self._token, os.urandom, self._limits)
        server = Server(identity, builtin.operations(), router.send)
        try:
            bound = [_bind(router, endpoint, self._token) for endpoint in wanted]
            router.start(server)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._stop, GRACE)
            _tell_ready(self._settings.control, bound, self._boot_id)
            # After the first `hello`, but before the first command, where that is not sent at once.
            loop.call_later(WARM, builtin.warm)
            await self._stopped.wait()
            server.closing = True
            await self._end(builtin, server)
        finally:
            router.close()

    def _stop(self, grace: float) -> None:
        self._grace = grace
        self._stopped.set()

    async def _end(self, builtin: Builtin, server: Server) -> None:
        try:
            async with asyncio.timeout(self._grace + 0.2):
                await builtin.close()
        except TimeoutError:
            print("agent: sessions did not end in time", file=sys.stderr)  # noqa: T201
        await server.dispatcher.close()


def _bind(router: Router, endpoint: str, token: bytes | None) -> str:
    try:
        bound = router.bind(endpoint)
        if endpoint.startswith("ipc:///"):
            # With a token anyone may knock: the client is often another uid than the agent.
            os.chmod(endpoint.removeprefix("ipc://"), 0o666 if token else 0o600)
    except OSError as error:
        raise SettingsError(f"{endpoint}: {error.strerror}") from None
    return bound


def _tell_ready(control: str, bound: list[str], boot_id: str) -> None:
    """Tell anyone who follows the log, then the engine, over its sd_notify(3) socket: who knows it finds the line."""
    line = json.dumps({"event": "ready", "endpoints": bound, "boot_id": boot_id})
    print(line, file=sys.stderr, flush=True)  # noqa: T201
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        try:
            notify.sendto(b"READY=1\n", f"{control}/notify")
        except OSError:  # this engine follows the log
            pass


async def _main(settings: Settings) -> None:
    await Agent(settings).run()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent; the exit status: 0 after an orderly end, 64 when it could not start as told."""
    try:
        asyncio.run(_main(parse_argv(sys.argv[1:] if argv is None else argv)))
    except SettingsError as error:
        print(f"agent: {error}", file=sys.stderr)  # noqa: T201
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main())
