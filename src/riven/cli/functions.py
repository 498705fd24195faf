"""Functions given by `--functions`."""

from collections.abc import Iterable

from riven.cli.arguments import CallError
from riven.cli.lettering import printable
from riven.nodes.function import FunctionError
from riven.nodes.functions import Functions


def load_functions(modules: Iterable[str]) -> Functions:
    """The shipped and installed functions, and those of the modules and files.

    Raises:
        CallError: one of them cannot be loaded.
    """
    functions = Functions.discover()
    for module in modules:
        try:
            functions.load(module)
        except FunctionError as error:
            raise CallError(f"--functions {printable(str(error))}", code="functions") from None
    return functions
