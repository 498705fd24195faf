"""Read the settings, put the process together that was asked for, and run it to its end.

What each process is made of is told by the `assemble` of its own module, so that none loads what another one needs.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from riven.cli.arguments import CallError
from riven.cli.launching import ProcessCall
from riven.cli.output import complain
from riven.main.process import Build, run_process
from riven.settings import Settings, SettingsError
from riven.telemetry.logs import configure_logging

Assemble: TypeAlias = Callable[[ProcessCall, Settings], Build]
"""Finds everything that can be wrong with the call: raises CallError and CommandError."""


def launch(call: ProcessCall, choose: Callable[[ProcessCall, Settings], Assemble]) -> int:
    """Its exit code. Raises CallError for settings that cannot be used, CommandError for what else is in the way."""
    settings = read_settings(engine=call.engine)
    assemble = choose(call, settings)
    require_servers(settings)
    settings = replace(
        settings,
        host=settings.host if call.host is None else call.host,
        port=settings.port if call.port is None else call.port,
        functions=(*settings.functions, *call.functions),
    )
    configure_logging(settings.log_format, settings.log_level, process=call.name or call.role)
    return run_process(call.role, settings, assemble(call, settings), watched=call.watched)


def read_settings(*, engine: str | None = None) -> Settings:
    """Those of the environment; `engine` was said on the command line. Raises CallError."""
    with _told():
        return Settings.from_environment(**({} if engine is None else {"RIVEN_ENGINE": engine}))


def require_servers(settings: Settings) -> None:
    """Of a process that cannot do without: the database, and the engine if it is elsewhere. Raises CallError."""
    with _told():
        settings.database()
        if settings.engine == "temporal":
            settings.temporal()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        *others, last = error.problems
        for problem in others:
            complain(f"riven: {problem}")
        raise CallError(last) from None
