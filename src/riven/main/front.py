"""The API and maintenance in one process, as `riven dev` has them: on one machine a process of its own is not worth it."""

from riven.cli.launching import ProcessCall
from riven.main.api import LoadVerifier, assemble_api
from riven.main.functions import load_functions
from riven.main.maintenance import LoadEngine, Maintenance
from riven.main.process import Build
from riven.settings import Settings


def assemble(
    call: ProcessCall, settings: Settings, load_verifier: LoadVerifier, load_engine: LoadEngine
) -> Build:
    api = assemble_api(call, settings, load_functions(settings.functions), load_verifier)
    return lambda: [api(), Maintenance(settings, load_engine)]
