"""Put the process together that was asked for, and run it to its end."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import replace

from riven.cli.app import CommandError
from riven.cli.arguments import CallError
from riven.cli.launching import ProcessCall
from riven.cli.output import complain, say
from riven.db.errors import DatabaseError
from riven.main.api import Api, PortTakenError, inherited, listen
from riven.main.functions import load_functions
from riven.main.maintenance import Maintenance
from riven.main.migrate import run_migrate
from riven.main.process import Part, run_process
from riven.main.worker import Worker
from riven.nodes.functions import FunctionError, Functions
from riven.settings import Settings, SettingsError
from riven.telemetry.logs import configure_logging


def launch(call: ProcessCall) -> int:
    """Its exit code. Raises CallError for settings that cannot be used, CommandError for what else is in the way."""
    try:
        settings = Settings.from_environment()
        settings.database()
        if call.role == "migrate":
            return _migrate(settings, platform_key=call.platform_key)
        settings = replace(
            settings,
            host=settings.host if call.host is None else call.host,
            port=settings.port if call.port is None else call.port,
            functions=(*settings.functions, *call.functions),
        )
    except SettingsError as error:
        *others, last = error.problems
        for problem in others:
            complain(f"riven: {problem}")
        raise CallError(last) from None
    configure_logging(settings.log_format, settings.log_level, process=call.name or call.role)
    return run_process(call.role, settings, _parts(call, settings), watched=call.watched)


def _parts(call: ProcessCall, settings: Settings) -> Callable[[], Sequence[Part]]:
    """What the process is made of; everything that can be wrong with the call is found here."""
    match call.role:
        case "worker":
            functions = _functions(settings)
            return lambda: [Worker(settings, functions, name=call.name)]
        case "maintenance":
            return lambda: [Maintenance(settings, name=call.name)]
        case "api":
            functions, listening = _functions(settings), _listening(call, settings)
            return lambda: [Api(settings, functions, listening)]
        case _:
            functions, listening = _functions(settings), _listening(call, settings)
            return lambda: [
                Api(settings, functions, listening),
                Worker(settings, functions, name=call.name),
                Maintenance(settings, name=call.name),
            ]


def _functions(settings: Settings) -> Functions:
    try:
        return load_functions(settings.functions)
    except FunctionError as error:
        raise CallError(f"functions: {error}") from None


def _listening(call: ProcessCall, settings: Settings) -> socket.socket:
    if call.descriptor is not None:
        return inherited(call.descriptor)
    try:
        return listen(settings.host, settings.port)
    except PortTakenError as error:
        raise CommandError(str(error)) from None


def _migrate(settings: Settings, *, platform_key: bool) -> int:
    try:
        revision, key = run_migrate(settings, platform_key=platform_key)
    except DatabaseError as error:
        raise CommandError(f"the database cannot be migrated: {error}") from None
    complain(f"riven: the schema is at revision {revision}")
    if platform_key:
        if key is None:
            raise CommandError("there is a platform key already; make further ones with 'riven keys'")
        say(key)
    return 0
