"""The functions that `python` nodes may call: the shipped ones, those of installed packages, those loaded by name.

Packages register modules (or single functions) under the entry-point group `riven.functions`; they are looked through
when a name is asked for that nobody else has. `load` takes importable names and Python files.
"""

import difflib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from riven.nodes.function import (
    DECLARED,
    Function,
    FunctionContext,
    FunctionError,
    describe_function,
    function,
)
from riven.nodes.function_arguments import Check, compile_check
from riven.nodes.function_pool import FunctionPool
from riven.nodes.shipped import echo, sleep

__all__ = [
    "Function",
    "FunctionContext",
    "FunctionError",
    "FunctionPool",
    "Functions",
    "Registered",
    "function",
]

ENTRY_POINTS = "riven.functions"


@dataclass(frozen=True, slots=True)
class Registered:
    """A function together with the check of its arguments."""

    function: Function
    check: Check


class Functions:
    """Functions by name. A name belongs to one function: a second one is refused, naming both."""

    def __init__(self, *calls: Callable[..., Any], entry_points: str | None = None) -> None:
        """The shipped functions and `calls`, which may be declared or not."""
        self._found: dict[str, Registered] = {}
        self._group = entry_points
        self._installed_read = entry_points is None
        self._faults: dict[str, str] = {}
        self._add(_of_calls((echo, sleep, *calls)))

    @classmethod
    def discover(cls) -> Self:
        """The shipped functions and those of installed packages."""
        return cls(entry_points=ENTRY_POINTS)

    def get(self, name: str) -> Registered | None:
        if name not in self._found:
            self._read_installed()
        return self._found.get(name)

    def names(self) -> tuple[str, ...]:
        self._read_installed()
        return tuple(sorted(self._found))

    def faults(self) -> Mapping[str, str]:
        """What is wrong with installed packages, by entry point; to be logged once at the start of a process."""
        self._read_installed()
        return dict(self._faults)

    def nearest(self, name: str) -> str | None:
        """The name that was probably meant."""
        close = difflib.get_close_matches(name[:128], self.names(), n=1)
        return close[0] if close else None

    def load(self, source: str) -> tuple[str, ...]:
        """Import a module by name, or a `.py` file by path, and take its functions; gives their names.

        Raises:
            FunctionError: it cannot be imported (with the line where it fails), has no functions, or has a name that
                another function has already.
        """
        is_file = source.endswith(".py") or "/" in source or "\\" in source
        before = len(DECLARED)
        try:
            module = _import_file(source) if is_file else _import_name(source)
        except FunctionError:
            del DECLARED[before:]
            raise
        declared = _of_module(module, before)
        if not declared:
            raise FunctionError(f"{source} has no functions: put @function above one")
        self._add(declared)
        return tuple(each.name for each in declared)

    def _add(self, functions: Iterable[Function]) -> None:
        """All of them or, when one is refused, none."""
        added: dict[str, Registered] = {}
        for each in functions:
            other = added.get(each.name) or self._found.get(each.name)
            if other is not None and other.function.call is not each.call:
                raise FunctionError(
                    f"two functions are called {each.name!r}: {other.function.origin} and {each.origin}; "
                    'rename one, as in @function(name="crm.lookup")'
                )
            if other is None:
                added[each.name] = Registered(each, compile_check(each))
        self._found.update(added)

    def _read_installed(self) -> None:
        if self._installed_read or self._group is None:
            return
        self._installed_read = True
        for entry in sorted(importlib.metadata.entry_points(group=self._group), key=lambda each: each.value):
            package = entry.dist.name if entry.dist is not None else "an unknown package"
            before = len(DECLARED)
            try:
                loaded = entry.load()
                self._add(
                    _of_module(loaded, before) if isinstance(loaded, ModuleType) else _of_calls((loaded,))
                )
            except FunctionError as error:
                self._faults[entry.name] = f"{entry.value} of the package {package}: {error}"
            except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign modules raise anything
                self._faults[entry.name] = (
                    f"{entry.value} of the package {package} cannot be loaded: {type(error).__name__}: {error}"
                )


def _of_calls(calls: Iterable[Callable[..., Any]]) -> list[Function]:
    declared = {id(each.call): each for each in DECLARED}
    return [declared.get(id(call)) or describe_function(call) for call in calls]


def _of_module(module: ModuleType, before: int) -> list[Function]:
    """What it and its submodules declare, whenever they were imported, and what else this import has declared."""
    name = module.__name__
    return [
        each
        for index, each in enumerate(DECLARED)
        if index >= before or each.module == name or each.module.startswith(f"{name}.")
    ]


def _import_name(source: str) -> ModuleType:
    working_directory = str(Path.cwd())
    if working_directory not in sys.path:
        sys.path.append(working_directory)
    try:
        return importlib.import_module(source)
    except (Exception, SystemExit) as error:  # a module may raise anything while it is imported
        raise FunctionError(_import_fault(source, None, error)) from error


def _import_file(source: str) -> ModuleType:
    path = Path(source).expanduser().resolve()
    if not path.is_file():
        raise FunctionError(f"{source}: there is no such file")
    # The digest keeps two files of the same name apart; the directory is searched so that neighbours can be imported.
    name = f"riven_functions_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FunctionError(f"{source} is no Python file: its name must end in .py")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a file may raise anything while it is imported
        del sys.modules[name]
        raise FunctionError(_import_fault(source, path, error)) from error
    return module


def _import_fault(source: str, path: Path | None, error: BaseException) -> str:
    text = str(error)
    if isinstance(error, SyntaxError):
        line, text = error.lineno, error.msg
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if path is not None and Path(frame.filename) == path]
        line = own[-1] if own else None
    where = f"{source}: line {line}" if line is not None else source
    if isinstance(error, FunctionError):
        return f"{where}: {text}"
    return f"{where}: {type(error).__name__}: {text}"
