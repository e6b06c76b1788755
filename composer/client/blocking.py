"""The same without asyncio: each call blocks; an event loop runs in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar, Unpack

from agent_stub.wire.operations.core import HelloReply
from agent_stub.wire.operations.file import FileInfo, Path
from agent_stub.wire.operations.session import SessionOpen
from composer.client import sandbox
from composer.client.files import Files as AsyncFiles
from composer.client.opening import Opening
from composer.client.results import ExecResult, OutputPiece, RunResult
from composer.client.sandbox import RunChanges
from composer.client.session import OnOutput, RunOptions
from composer.client.session import Session as AsyncSession
from composer.client.start import Changes, StartOptions
from composer.progress import Progress

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="composer", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end; an interrupt (Ctrl-C) cancels the work first, which ends the command in the sandbox."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


class Files:
    """See `composer.client.files.Files`."""

    def __init__(self, loop: LoopThread, files: AsyncFiles) -> None:
        self._loop = loop
        self._files = files

    def read(self, path: Path, *, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file."""
        return self._loop.run(self._files.read(path, offset=offset, length=length))

    def write(self, path: Path, data: bytes | str, *, mode: int | None = None, create_only: bool = False) -> None:
        """Write a whole file, atomically."""
        self._loop.run(self._files.write(path, data, mode=mode, create_only=create_only))

    def append(self, path: Path, data: bytes | str) -> None:
        """Add to the end of a file."""
        self._loop.run(self._files.append(path, data))

    def stat(self, path: Path, *, follow: bool = False) -> FileInfo:
        """A file's metadata."""
        return self._loop.run(self._files.stat(path, follow=follow))

    def exists(self, path: Path) -> bool:
        """Whether there is something at ``path``."""
        return self._loop.run(self._files.exists(path))

    def remove(self, path: Path, *, recursive: bool = False, missing_ok: bool = False) -> None:
        """Remove a file or directory."""
        self._loop.run(self._files.remove(path, recursive=recursive, missing_ok=missing_ok))

    def move(self, source: Path, target: Path, *, overwrite: bool = False) -> None:
        """Rename a file or directory."""
        self._loop.run(self._files.move(source, target, overwrite=overwrite))

    def mkdir(self, path: Path, *, parents: bool = True, mode: int = 0o777) -> None:
        """Make a directory."""
        self._loop.run(self._files.mkdir(path, parents=parents, mode=mode))

    def list(self, path: Path, *, recursive: bool = False, limit: int = 10_000) -> list[FileInfo]:
        """A directory's entries by name."""
        return self._loop.run(self._files.list(path, recursive=recursive, limit=limit))


class Session:
    """See `composer.client.session.Session`."""

    def __init__(self, loop: LoopThread, session: AsyncSession) -> None:
        self._loop = loop
        self._session = session
        self.name = session.name

    def run(
        self, command: str | bytes, *, on_output: OnOutput | None = None, **options: Unpack[RunChanges]
    ) -> RunResult:
        """Run a command text; ``on_output`` is called in the loop's thread."""
        return self._loop.run(self._session.run(command, RunOptions(**options), on_output=on_output))

    def input(self, text: str | bytes) -> None:
        """Type into the command that runs."""
        self._loop.run(self._session.input(text))

    def close(self) -> None:
        """End the shell and everything that it started."""
        self._loop.run(self._session.close())


class Sandbox:
    """As the async one: ``with Sandbox.start("alpine:3.20") as box: print(box.run("id").output)``."""

    def __init__(self, opening: Callable[[], Opening[sandbox.Sandbox]]) -> None:
        self._loop = LoopThread()
        try:
            self._box = self._loop.run(_opened(opening))
        except BaseException:
            self._loop.close()
            raise
        self.files = Files(self._loop, self._box.files)

    @classmethod
    def start(
        cls,
        base: str,
        *,
        options: StartOptions | None = None,
        name: str | None = None,
        owned: bool = True,
        progress: Progress | None = None,
        **changes: Unpack[Changes],
    ) -> Self:
        """Compose ``base`` when needed and start it."""
        return cls(
            lambda: sandbox.Sandbox.start(base, options=options, name=name, owned=owned, progress=progress, **changes)
        )

    @classmethod
    def connect(cls, endpoint: str, token: bytes | str | None = None, *, patience: float = 0.0) -> Self:
        """Any agent at ``endpoint``."""
        return cls(lambda: sandbox.Sandbox.connect(endpoint, token, patience=patience))

    def hello(self) -> HelloReply:
        """Who the agent is."""
        return self._loop.run(self._box.hello())

    def run(
        self, command: str | bytes, *, on_output: OnOutput | None = None, **options: Unpack[RunChanges]
    ) -> RunResult:
        """Run a command text in the persistent shell `main`; ``on_output`` is called in the loop's thread."""
        return self._loop.run(self._box.run(command, on_output=on_output, **options))

    def stream(self, command: str | bytes, **options: Unpack[RunChanges]) -> Iterator[OutputPiece | RunResult]:
        """Run a command text in `main`: its output piece by piece, and the result as the last item."""
        items = self._box.stream(command, **options)
        while True:
            item = self._loop.run(_next(items))
            if item is None:
                return
            yield item

    def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
        limit: int = 1 << 20,
    ) -> ExecResult:
        """Run a program without a shell."""
        return self._loop.run(self._box.exec(argv, cwd=cwd, env=env, stdin=stdin, timeout=timeout, limit=limit))

    def open_session(self, name: str = "", options: SessionOpen | None = None) -> Session:
        """A new shell."""
        return Session(self._loop, self._loop.run(self._box.open_session(name, options)))

    def shutdown(self, grace: float = 0.5) -> None:
        """End the agent and everything that it started."""
        self._loop.run(self._box.shutdown(grace))

    def close(self) -> None:
        """Leave the sandbox, and remove it when it is owned."""
        try:
            self._loop.run(self._box.close())
        finally:
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


async def _opened(opening: Callable[[], Opening[sandbox.Sandbox]]) -> sandbox.Sandbox:
    return await opening()


async def _next(items: Any) -> OutputPiece | RunResult | None:
    found: OutputPiece | RunResult | None = await anext(items, None)
    return found
