"""Everything in one process: `riven all`."""

from riven.cli.launching import ProcessCall
from riven.main.api import LoadVerifier, assemble_api
from riven.main.functions import load_functions
from riven.main.maintenance import Maintenance
from riven.main.process import Build
from riven.main.worker import Worker
from riven.settings import Settings


def assemble(call: ProcessCall, settings: Settings, load_verifier: LoadVerifier) -> Build:
    functions = load_functions(settings.functions)
    api = assemble_api(call, settings, functions, load_verifier)
    return lambda: [api(), Worker(settings, functions, name=call.name), Maintenance(settings, name=call.name)]
