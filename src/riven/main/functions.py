"""The functions that `python` nodes of this installation may call."""

import logging
from collections.abc import Iterable

from riven.cli.arguments import CallError
from riven.nodes.functions import FunctionError, Functions

_log = logging.getLogger("riven.process")


def load_functions(sources: Iterable[str]) -> Functions:
    """The shipped and installed ones, and those of `sources`. Raises CallError."""
    functions = Functions.discover()
    for source in sources:
        try:
            functions.load(source)
        except FunctionError as error:
            raise CallError(f"functions: {error}") from None
    for package, fault in functions.faults().items():
        _log.warning("functions_broken", extra={"package": package, "error": fault})
    return functions
