"""The table of node types: the built-in ones and those that packages register as entry points `riven.nodes`.

A module is loaded when its type is first asked for, and installed packages are looked through only when a name is
asked for that is not built in, so that a small document does not wait for what it does not use. What is wrong with an
entry point is kept as a fault of that one type; it takes nothing else down.
"""

import importlib
import importlib.metadata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from riven.core.errors import RivenError
from riven.nodes.conformity import contract_faults, schema_fault
from riven.nodes.contract import NodeType
from riven.wire.document import Json

ENTRY_POINTS = "riven.nodes"

BUILTIN: Mapping[str, str] = {
    "http_request": "riven.nodes.builtin.http_request:HttpRequest",
    "python": "riven.nodes.builtin.python:Python",
    "set": "riven.nodes.builtin.set:Set",
    "log": "riven.nodes.builtin.log:Log",
    "noop": "riven.nodes.builtin.noop:Noop",
    "fail": "riven.nodes.builtin.fail:Fail",
    "condition": "riven.nodes.builtin.condition:Condition",
    "switch": "riven.nodes.builtin.switch:Switch",
    "for_each": "riven.nodes.builtin.for_each:ForEach",
    "repeat": "riven.nodes.builtin.repeat:Repeat",
    "call": "riven.nodes.builtin.call:Call",
    "wait": "riven.nodes.builtin.wait:Wait",
    "signal": "riven.nodes.builtin.signal:Signal",
    "approval": "riven.nodes.builtin.approval:Approval",
}


class NodeTypeError(RivenError):
    """A class does not keep the contract of node types; `faults` lists how."""

    def __init__(self, where: str, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(f"{where} is no node type: {'; '.join(self.faults)}")


class Registry:
    """Node types by name. Immutable from outside; what it has loaded is kept."""

    def __init__(
        self,
        table: Mapping[str, str] = BUILTIN,
        types: Mapping[str, NodeType[Any]] | None = None,
        *,
        entry_points: str | None = None,
    ) -> None:
        """`table`: type name to `module:Class`. `entry_points`: the group to look through, None for none."""
        self._table = table
        self._loaded: dict[str, NodeType[Any]] = dict(types or {})
        self._given = tuple(self._loaded)
        self._group = entry_points
        self._installed: dict[str, importlib.metadata.EntryPoint] | None = None
        self._faults: dict[str, str] = {}

    @classmethod
    def discover(cls) -> Self:
        """The built-in types and those of installed packages."""
        return cls(entry_points=ENTRY_POINTS)

    def with_types(self, *types: type[NodeType[Any]] | NodeType[Any]) -> "Registry":
        """A registry that has these types too, by their own names; a name that exists already means the new one.

        Raises:
            NodeTypeError: one of them does not keep the contract.
        """
        added = dict(self._named(self._given))
        for each in types:
            node_type = _made(each, getattr(each, "__qualname__", type(each).__qualname__))
            added[node_type.type] = node_type
        return Registry(self._table, added, entry_points=self._group)

    def get(self, name: str) -> NodeType[Any] | None:
        """The type of this name; None if there is none or if it cannot be used, which `fault` then explains."""
        found = self._loaded.get(name)
        if found is not None:
            return found
        if name in self._table:
            return self._keep(name, _load_class(self._table[name]), f"the type {name!r}")
        return self._from_package(name)

    def fault(self, name: str) -> str | None:
        """Why a type of an installed package cannot be used, naming the package; None when nothing is wrong."""
        self.get(name)
        return self._faults.get(name)

    def names(self) -> tuple[str, ...]:
        """All registered names: built-in ones in the order of the documentation, then the others by name."""
        others = {*self._given, *self._packages()} - set(self._table)
        return (*self._table, *sorted(others))

    def types(self) -> Iterator[NodeType[Any]]:
        """Every type that can be used."""
        return (found for found in map(self.get, self.names()) if found is not None)

    def faults(self) -> Mapping[str, str]:
        """What is wrong with installed types, by name; to be logged once at the start of a process."""
        return {name: fault for name in self.names() if (fault := self.fault(name)) is not None}

    def describe(self) -> list[dict[str, Json]]:
        """Every usable type as JSON: what forms, the API and the reference are made from."""
        return [describe(found) for found in self.types()]

    def _named(self, names: Iterable[str]) -> Iterator[tuple[str, NodeType[Any]]]:
        return ((name, self._loaded[name]) for name in names)

    def _keep(self, name: str, candidate: object, where: str) -> NodeType[Any]:
        node_type = _made(candidate, where)
        if node_type.type != name:
            raise NodeTypeError(where, [f"it is registered as {name!r} but calls itself {node_type.type!r}"])
        self._loaded[name] = node_type
        return node_type

    def _from_package(self, name: str) -> NodeType[Any] | None:
        entry = self._packages().get(name)
        if entry is None or name in self._faults:
            return None
        where = _where(entry)
        try:
            found = self._keep(name, entry.load(), where)
            if (fault := schema_fault(type(found))) is None:
                return found
            del self._loaded[name]
            self._faults[name] = f"{where}: {fault}"
        except NodeTypeError as error:
            self._faults[name] = str(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign modules raise anything
            self._faults[name] = f"{where} cannot be loaded: {type(error).__name__}: {error}"
        return None

    def _packages(self) -> Mapping[str, importlib.metadata.EntryPoint]:
        if self._installed is None:
            self._installed = {}
            found = importlib.metadata.entry_points(group=self._group) if self._group else ()
            for entry in sorted(found, key=_where):
                if entry.name in self._table:
                    self._faults[entry.name] = (
                        f"{_where(entry)}: the type {entry.name!r} is built in; rename it"
                    )
                    continue
                other = self._installed.setdefault(entry.name, entry)
                if other.value != entry.value:
                    self._faults[entry.name] = (
                        f"{_where(other)} and {_where(entry)} both register the type {entry.name!r}; uninstall one"
                    )
        return self._installed


def describe(node_type: NodeType[Any]) -> dict[str, Json]:
    """One type as JSON."""
    cls = type(node_type)
    return {
        "type": node_type.type,
        "title": node_type.title,
        "description": node_type.description,
        "icon": node_type.icon,
        "category": node_type.category,
        "kind": node_type.kind.value,
        "pure": node_type.pure,
        "labels": list(node_type.outcomes),
        "labelsFromConfig": cls.labels is not NodeType.labels,
        "defaultTimeoutSeconds": node_type.default_timeout,
        "staticFields": list(node_type.static_fields),
        "expressionFields": list(node_type.expression_fields),
        "configSchema": node_type.config.model_json_schema(),
        "outputSchema": dict(node_type.output),
    }


def _load_class(reference: str) -> object:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def _made(candidate: object, where: str) -> NodeType[Any]:
    faults = contract_faults(candidate)
    if faults:
        raise NodeTypeError(where, faults)
    made = candidate() if isinstance(candidate, type) else candidate
    assert isinstance(made, NodeType)  # noqa: S101 - contract_faults has seen to it
    return made


def _where(entry: importlib.metadata.EntryPoint) -> str:
    package = entry.dist.name if entry.dist is not None else "an unknown package"
    return f"{entry.value} of the package {package}"
