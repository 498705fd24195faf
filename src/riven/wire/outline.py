"""The nodes of a document in document order: a container before its body, items and iterations by their index.

Which bodies were entered is a run's affair: it is told by the paths of the nodes that anything is known of. All nodes
of a scope that was entered are named, also those that were never started.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from riven.wire.document import BodyDocument, Document, NodeDocument, call_key
from riven.wire.places import place_step

CALL = "call"


@dataclass(frozen=True, slots=True)
class Outlined:
    path: str
    place: str
    node: NodeDocument


@dataclass(slots=True)
class Entered:
    """Scopes that a run has entered, by the paths of their containers: indexes, in which 0 is a call's only one."""

    indexes: dict[str, set[int]] = field(default_factory=dict)

    def add(self, path: str) -> None:
        """Something is known of this node: the scopes around it were entered."""
        end = path.rfind(".")
        while end > 0:
            scope = path[:end]
            if scope.endswith("]"):
                container, _, index = scope.rpartition("[")
                known = self.indexes.setdefault(container, set())
                number = int(index[:-1])
            else:
                container, number = scope, 0
                known = self.indexes.setdefault(scope, set())
            if number in known:
                return
            known.add(number)
            end = container.rfind(".")

    @classmethod
    def by(cls, paths: Iterable[str]) -> "Entered":
        entered = cls()
        for path in paths:
            entered.add(path)
        return entered


def outline(document: Document, entered: Entered) -> Iterator[Outlined]:
    return _scope(document.nodes, document, document, entered, "", "")


def _scope(
    nodes: Mapping[str, NodeDocument],
    document: Document,
    top: Document,
    entered: Entered,
    prefix: str,
    place: str,
) -> Iterator[Outlined]:
    for position, node in enumerate(nodes.values()):
        path, here = prefix + node.key, place + place_step(position)
        yield Outlined(path, here, node)
        indexes = entered.indexes.get(path)
        if not indexes:
            continue
        if node.body is not None:
            body: BodyDocument = node.body
            for index in sorted(indexes):
                inner = f"{path}[{index}]."
                yield from _scope(body.nodes, document, top, entered, inner, here + place_step(index))
        elif node.type == CALL:
            called = called_document(node, document, top)
            if called is not None:
                yield from _scope(called.nodes, called, top, entered, f"{path}.", here + place_step(0))


def called_document(node: NodeDocument, document: Document, top: Document) -> Document | None:
    """What a `call` calls; `document` is the one in which it stands."""
    key = call_key(str(node.config.get("workflow")), node.config.get("version"))
    return document.calls.get(key) or top.calls.get(key)
