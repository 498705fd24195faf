"""Everything in one process: `riven all`."""

from riven.cli.launching import ProcessCall
from riven.main.api import Api, listen
from riven.main.functions import load_functions
from riven.main.maintenance import Maintenance
from riven.main.process import Build
from riven.main.worker import Worker
from riven.settings import Settings


def assemble(call: ProcessCall, settings: Settings) -> Build:
    functions, listening = load_functions(settings.functions), listen(call, settings)
    return lambda: [
        Api(settings, functions, listening),
        Worker(settings, functions, name=call.name),
        Maintenance(settings, name=call.name),
    ]
