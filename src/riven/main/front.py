"""The API and maintenance in one process, as `riven dev` has them: on one machine a process of its own is not worth it."""

from riven.cli.launching import ProcessCall
from riven.main.api import Api, listen
from riven.main.functions import load_functions
from riven.main.maintenance import Maintenance
from riven.main.process import Build
from riven.settings import Settings


def assemble(call: ProcessCall, settings: Settings) -> Build:
    functions, listening = load_functions(settings.functions), listen(call, settings)
    return lambda: [Api(settings, functions, listening), Maintenance(settings)]
