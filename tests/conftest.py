"""Coroutine tests run in an event loop of their own, and leave nothing running in it."""

import asyncio
import inspect
import os
import signal
import sys

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
"""What lands was tried with the same examples before; new ones are looked for where people work."""

if os.environ.get("CI"):  # noqa: TID251 - the tests' own environment
    settings.load_profile("ci")

pytest_plugins = ["tests.fixtures_postgres", "tests.fixtures_temporal"]


def pytest_configure() -> None:
    """Who starts the tests in the background of a shell passes on that Ctrl-C is ignored; programs under test are not."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a server is slow: `make test-fast` starts none."""
    for item in items:
        if {"postgres_server", "temporal_server"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    names = pyfuncitem._fixtureinfo.argnames

    async def alone() -> None:
        await test(**{name: pyfuncitem.funcargs[name] for name in names})
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"the test left tasks behind: {left}"

    asyncio.run(alone())
    return True


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Temporal's client has threads that cannot be ended, and that may abort a Python which takes itself down: leave."""
    if "temporalio" in sys.modules and config.stash.get(_STATUS, None) is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash[_STATUS])


_STATUS = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_STATUS] = int(exitstatus)
