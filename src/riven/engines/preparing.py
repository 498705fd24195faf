"""Versions of workflows made ready to run, once for all their runs."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from riven.core.errors import InvalidDocumentError, Severity
from riven.core.graph import Graph
from riven.core.plan import plan
from riven.core.scopes import ScopePlan
from riven.core.validation import validate
from riven.documents.normalise import build_graph
from riven.effects.program import Program, compile_program
from riven.nodes.registry import Registry
from riven.wire.document import Document

_KEPT = 256


@dataclass(frozen=True)
class Prepared:
    document: Document
    graph: Graph
    program: Program

    @cached_property
    def planned(self) -> ScopePlan:
        """The same for all runs. Raises UnknownNodeError for a graph that no validation has let through."""
        return plan(self.graph)


class Preparing:
    def __init__(self, registry: Registry, load: Callable[[UUID], Awaitable[Document | None]]) -> None:
        """`load`: the document of a version; None if its row is gone."""
        self._registry = registry
        self._load = load
        self._prepared: OrderedDict[UUID, Prepared] = OrderedDict()

    async def prepare(self, version_id: UUID) -> Prepared | None:
        """The version ready to run; None if its row is gone. Raises InvalidDocumentError."""
        known = self._prepared.get(version_id)
        if known is not None:
            self._prepared.move_to_end(version_id)
            return known
        document = await self._load(version_id)
        if document is None:
            return None
        graph = build_graph(document, self._registry)
        problems = [problem for problem in validate(graph) if problem.severity is Severity.ERROR]
        if problems:
            raise InvalidDocumentError(problems)
        prepared = self._prepared[version_id] = Prepared(
            document, graph, compile_program(document, self._registry)
        )
        if len(self._prepared) > _KEPT:
            self._prepared.popitem(last=False)
        return prepared


def all_problems(error: InvalidDocumentError) -> str:
    """What is wrong with the document as a whole has no path."""
    said = (f"{each.path}: {each.message}" if each.path else each.message for each in error.problems)
    return "; ".join(said)
