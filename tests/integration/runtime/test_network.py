"""Each kind of network reaches what it should, and no more."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from composer.errors import AgentLostError, EngineMissingError, UsageError
from tests.kit.box import Starter, python
from tests.kit.skip import unavailable

pytestmark = [pytest.mark.root, pytest.mark.slow]

LOOK = """
import json, socket
def tried(address):
    try:
        with socket.create_connection(address, 3) as s:
            return s.recv(9).decode()
    except OSError as error:
        return type(error).__name__
with socket.socket() as s:
    s.bind(("127.0.0.1", 0)); s.listen(); own = s.getsockname()
    with socket.create_connection(own, 3): pass
print(json.dumps([[name for _, name in socket.if_nameindex()], tried(%r)]))
"""


@pytest.fixture
def greeter() -> Iterator[tuple[str, int]]:
    """A server on an address of this host that is not loopback: it says hello to whoever connects."""
    address = _own_address()
    with socket.create_server((address, 0)) as server:
        import threading

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    peer.sendall(b"hello")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield address, server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; asks for the route's source address
        except OSError:
            unavailable("this host has no address but loopback", obtainable=False)
        return str(probe.getsockname()[0])


async def test_none_is_loopback_alone(starter: Starter, greeter: tuple[str, int]) -> None:
    async with starter.box() as box:
        assert await python(box, LOOK % (greeter,)) == [["lo"], "OSError"]


async def test_host_over_tcp(starter: Starter, greeter: tuple[str, int]) -> None:
    async with starter.box(network="host", transport="tcp") as box:
        assert box.agent.endpoint.startswith("tcp://127.0.0.1:")
        names, found = await python(box, LOOK % (greeter,))
        assert (names, found) == ([name for _, name in socket.if_nameindex()], "hello")


async def test_user_mode(starter: Starter, greeter: tuple[str, int]) -> None:
    try:
        async with starter.box(network="user") as box:
            names, found = await python(box, LOOK % (greeter,))
    except EngineMissingError as error:
        unavailable(str(error))
    assert ("lo" in names, len(names), found) == (True, 2, "hello")


async def test_tcp_needs_the_hosts_network(starter: Starter) -> None:
    with pytest.raises(UsageError):
        await starter.engine.start(starter.options(transport="tcp"))


async def test_a_helper_that_fails(starter: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "slirp4netns"
    helper.write_text("#!/bin/sh\nexit 1\n")
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    options = starter.options(network="user")
    with pytest.raises(AgentLostError, match="before the network was up"):
        await starter.engine.start(options)
    assert options.name not in [row.name for row in await starter.engine.sandboxes()]
