"""Everything but Temporal in one process: `riven all` with its engine."""

from riven.cli.launching import ProcessCall
from riven.main.api import LoadVerifier, assemble_api
from riven.main.dispatcher import Dispatcher
from riven.main.functions import load_functions
from riven.main.maintenance import Maintenance
from riven.main.process import Build
from riven.main.temporal import open_engine
from riven.main.temporal_worker import TemporalWorkerPart
from riven.settings import Settings


def assemble(call: ProcessCall, settings: Settings, load_verifier: LoadVerifier) -> Build:
    functions = load_functions(settings.functions)
    api = assemble_api(call, settings, functions, load_verifier)
    return lambda: [
        api(),
        Dispatcher(settings, name=call.name),
        TemporalWorkerPart(settings, functions, name=call.name),
        Maintenance(settings, open_engine, name=call.name),
    ]
