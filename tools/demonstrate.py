"""What ``tools/demo`` runs: compose real bases, start them, and show bash, exec and file actions with their timings."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from composer import Sandbox
from composer.build import BuildRequest, BuildResult, build
from composer.cli.render import notice, progress, say, size
from composer.env.leave import leave
from composer.errors import ChannelError, ComposerError
from composer.store.store import Store
from tools.bases import bases

ROOT = Path(__file__).resolve().parent.parent
CHANNEL_VARIABLE = "COMPOSER_CHANNEL"


def main() -> int:
    """Run the demo; the exit status is 0 when every base was composed and every action did what it should."""
    store = Store.open()
    try:
        use_channel(store)
        for base in bases(store):
            demonstrate(base, store)
    except ComposerError as error:
        notice(f"error: {error}")
        return error.exit_status
    say("\nEverything above ran in images composed on this machine, without a daemon and without a Dockerfile.")
    if os.environ.get(CHANNEL_VARIABLE):
        say(f"To go on with the same channel: export {CHANNEL_VARIABLE}={os.environ[CHANNEL_VARIABLE]}")
    say("Next: .venv/bin/composer run scratch -- 'echo hello from $BASH_VERSION'")
    return 0


def use_channel(store: Store) -> None:
    """Make sure that the core env can be had: from conda-forge, else from the local channel, with a notice."""
    from composer.env.resolve import resolve_lock
    from composer.oci.platform import Platform

    try:
        resolve_lock(("core",), (), Platform.host(), store)
    except ChannelError as error:
        notice(f"{error.input_name}: {error.cause}; going on with a local channel made of distribution packages")
        folder = store.root / "local-channel"
        command = [sys.executable, "-m", "tools.channel", "--out", str(folder)]
        subprocess.run(command, check=True, cwd=ROOT)
        os.environ[CHANNEL_VARIABLE] = folder.as_uri()


def demonstrate(base: str, store: Store) -> None:
    """Compose one base and act in it."""
    say(f"\n### {base}")
    with progress() as report:
        result = build(BuildRequest(base), store, report)
    _show_image(result)
    asyncio.run(_act(base))


def _show_image(result: BuildResult) -> None:
    ours = [layer.descriptor.size for layer in result.runtime.all]
    took = sum(result.seconds.values()) * 1000
    say(f"composed in {took:.0f} ms: {len(result.plan.layers)} layers, {size(sum(ours))} of them the runtime's")
    say(f"{result.name}  {result.plan.manifest_digest}")


async def _act(base: str) -> None:
    with _timed("start -> hello"):
        box = await Sandbox.start(base)
    async with box:
        first = await _show(
            "bash  ",
            "echo bash $BASH_VERSION; . /etc/os-release 2>/dev/null; echo ${PRETTY_NAME:-no os-release}",
            box.run,
        )
        _expect(first.exit_code == 0, "the first command ends well")
        state = await _show("bash  ", "cd /tmp 2>/dev/null || cd /; export GREETING=hello; false", box.run)
        _expect(state.exit_code == 1, "false returns 1")
        kept = await _show("bash  ", "echo $GREETING from $PWD", box.run)
        _expect("hello from" in kept.output, "the shell keeps its state")
        ran = await _show("exec  ", ["/.oc/bin/python3", "-I", "-c", "print(6 * 7)"], box.exec)
        _expect(ran.stdout.strip() == "42", "exec gives its output")
        data = bytes(range(256)) * 4096
        with _timed(f"file   write and read back {len(data)} bytes"):
            await box.files.write("/tmp/composer-demo", data)
            back = await box.files.read("/tmp/composer-demo")
        _expect(back == data, "the file is as it was written")
        listed = await box.files.list("/tmp")
        say(f"        /tmp holds {', '.join(str(entry.name) for entry in listed)}")


async def _show(label: str, command: Any, action: Callable[[Any], Any]) -> Any:
    began = time.perf_counter()
    result = await action(command)
    took = (time.perf_counter() - began) * 1000
    text = result.output if hasattr(result, "output") else result.stdout
    shown = command if isinstance(command, str) else " ".join(command)
    say(f"{label} {took:7.2f} ms  $ {shown}")
    for line in text.splitlines():
        say(f"                    {line}")
    return result


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    say(f"{what}: {(time.perf_counter() - began) * 1000:.1f} ms")


def _expect(truth: bool, what: str) -> None:
    if not truth:
        raise ComposerError("demo", f"not so: {what}", "this is a fault of composer: report it")


if __name__ == "__main__":
    leave(main())
