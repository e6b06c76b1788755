"""Fixtures that every test may use; they live in tests/kit."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Iterator

import pytest

from composer.env.leave import leave
from tests.kit.channel import channel
from tests.kit.env import core_env, core_lock, core_store
from tests.kit.skip import unavailable

__all__ = ["channel", "core_env", "core_lock", "core_store"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an ``async def`` test on a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs root, with a reason."""
    if item.get_closest_marker("root") and os.geteuid() != 0:
        unavailable("this test needs root")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave as the command line does: rattler's threads may abort a process that ends in the usual way."""
    status = getattr(config, "_composer_status", None)
    if status is not None and "rattler" in sys.modules:
        leave(int(status))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config._composer_status = exitstatus  # type: ignore[attr-defined]


@pytest.fixture(autouse=True, scope="session")
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees the user's own store or channel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSER_STORE", str(tmp_path_factory.mktemp("store")))
        patch.delenv("COMPOSER_CHANNEL", raising=False)
        yield
