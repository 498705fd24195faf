"""The console script: the table of commands. Each is imported when it is called, and with it what it alone needs."""

import contextlib
import functools
import gc
import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from riven.cli.app import Entry, FunctionNames, Loaders, run_app
from riven.cli.arguments import CallError
from riven.cli.launching import ProcessCall


def _run() -> click.Command:
    from riven.cli.run import run

    return run


def _validate() -> click.Command:
    from riven.cli.validate import validate

    return validate


def _graph() -> click.Command:
    from riven.cli.graph import graph

    return graph


def _apply() -> click.Command:
    from riven.cli.apply import apply

    return apply


def _start() -> click.Command:
    from riven.cli.start import start

    return start


def _executions() -> click.Command:
    from riven.cli.executions import executions

    return executions


def _workspaces() -> click.Command:
    from riven.cli.workspaces import workspaces

    return workspaces


def _keys() -> click.Command:
    from riven.cli.keys import keys

    return keys


def _dev() -> click.Command:
    from riven.cli.dev import dev

    return dev


def _api() -> click.Command:
    from riven.cli.processes import api

    return api


def _worker() -> click.Command:
    from riven.cli.processes import worker

    return worker


def _maintenance() -> click.Command:
    from riven.cli.processes import maintenance

    return maintenance


def _all() -> click.Command:
    from riven.cli.processes import everything

    return everything


def _dispatcher() -> click.Command:
    from riven.cli.processes import dispatcher

    return dispatcher


def _migrate() -> click.Command:
    from riven.cli.processes import migrate

    return migrate


def _functions(modules: Iterable[str]) -> FunctionNames:
    from riven.cli.functions import load_functions

    return load_functions(modules)


def _live() -> Callable[..., object]:
    from riven.cli.live import LiveScreen

    return LiveScreen


def _run_dev() -> Callable[..., None]:
    from riven.main.dev import run_dev

    return run_dev


def _launch(call: ProcessCall) -> int:
    if call.role == "migrate":
        from riven.main.migrate import run_migrate

        return run_migrate(platform_key=call.platform_key, register=_register_with_temporal)
    from riven.main.launch import launch

    return launch(call, _assembly)


def _assembly(call: ProcessCall, settings: Any) -> Callable[..., Callable[[], Any]]:  # noqa: ANN401 - see below
    """Of the process that was asked for, and of no other: a worker need not load what serves HTTP."""
    match call.role, settings.engine:
        case "dispatcher", "embedded":
            raise CallError("with the embedded engine every worker dispatches for itself; run 'riven worker'")
        case "dispatcher", _:
            from riven.main.dispatcher import assemble as dispatcher

            return dispatcher
        case "worker", "embedded":
            from riven.main.worker import assemble as worker

            return worker
        case "worker", _:
            from riven.main.temporal_worker import assemble as temporal_worker

            return temporal_worker
        case "maintenance", _:
            from riven.main.maintenance import assemble as maintenance

            return functools.partial(maintenance, load_engine=_load_engine)
        case "api", _ if call.maintenance:
            from riven.main.front import assemble as front

            return functools.partial(front, load_verifier=_load_verifier, load_engine=_load_engine)
        case "api", _:
            from riven.main.api import assemble as api

            return functools.partial(api, load_verifier=_load_verifier)
        case _, "embedded":
            from riven.main.all import assemble as everything

            return functools.partial(everything, load_verifier=_load_verifier)
        case _:
            from riven.main.temporal_all import assemble as everything_there

            return functools.partial(everything_there, load_verifier=_load_verifier)


async def _load_engine(settings: Any) -> Any:  # noqa: ANN401 - of what is loaded here and nowhere else
    from riven.main.temporal import open_engine

    return await open_engine(settings)


async def _register_with_temporal(settings: Any) -> None:  # noqa: ANN401 - as above
    from riven.main.temporal import register

    await register(settings)


def _load_verifier(settings: Any) -> Any:  # noqa: ANN401 - of what is loaded here and nowhere else
    from riven.main.identity import load_verifier

    return load_verifier(settings)


COMMANDS = {
    "run": Entry("Run a workflow here, in memory.", _run),
    "validate": Entry("Tell everything that is wrong with documents.", _validate),
    "graph": Entry("Draw a workflow.", _graph),
    "dev": Entry("Run the whole product on this machine.", _dev),
    "apply": Entry("Save and publish workflows on a server.", _apply),
    "start": Entry("Start a published workflow on a server.", _start),
    "executions": Entry("See executions on a server, and steer them.", _executions),
    "workspaces": Entry("See and administer workspaces.", _workspaces),
    "keys": Entry("Make, list and revoke API keys.", _keys),
    "api": Entry("Serve the HTTP API.", _api),
    "worker": Entry("Claim executions and run them.", _worker),
    "maintenance": Entry("Recover, repair, clear away.", _maintenance),
    "all": Entry("Everything of an installation in one process.", _all),
    "dispatcher": Entry("Start executions on an engine that is elsewhere.", _dispatcher),
    "migrate": Entry("Bring the database to the schema of this version.", _migrate),
}
LOADERS = Loaders(_functions, _live, _run_dev, _launch)

_COLLECT_AFTER = 100_000
"""New objects between two searches for garbage in circles. A large document makes millions of objects and hardly a
circle: with Python's own 700 a third of its time would go into looking.
"""


def main() -> None:
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
    code = run_app(sys.argv[1:], COMMANDS, LOADERS)
    gc.freeze()  # the process ends: what a large run leaves need not be looked through once more
    if "temporalio" in sys.modules:
        _leave_at_once(code)
    sys.exit(code)


def _leave_at_once(code: int) -> None:
    """Temporal's client has threads that cannot be ended: one that meets Python while it takes itself down aborts it."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
