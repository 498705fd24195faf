"""Which nodes of a finished execution a rerun keeps: pure, and told before anything is started.

From a node on, everything runs again: it, and all that comes after it. In another version so does every node that is not
what it was, with all that comes after that. Kept is, of the rest, what completed, or failed and was handled.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from riven.core.graph import ALWAYS, DONE, FAILURE
from riven.wire.document import Document, NodeDocument

_HANDLED_BY = frozenset({FAILURE, DONE, ALWAYS})


def kept_nodes(
    document: Document, statuses: Mapping[str, str], *, start: str, before: Document | None = None
) -> list[str]:
    """Keys of nodes in the outermost scope, in document order.

    `statuses`: how the nodes ended; `start`: the node that runs again; `before`: the document that ran, if it is another.
    """
    again = {start} if before is None else {start, *_changed(document, before)}
    behind = _behind(document, again)
    return [
        key
        for key in document.nodes
        if key not in behind
        and (statuses.get(key) == "COMPLETED" or (statuses.get(key) == "FAILED" and _handles(document, key)))
    ]


def _behind(document: Document, keys: Collection[str]) -> set[str]:
    """These nodes and all that can be reached from them."""
    targets: dict[str, list[str]] = {}
    for edge in document.edges:
        targets.setdefault(edge.source, []).append(edge.target)
    found: set[str] = set()
    todo = list(keys)
    while todo:
        key = todo.pop()
        if key not in found:
            found.add(key)
            todo += targets.get(key, [])
    return found


def _changed(document: Document, before: Document) -> list[str]:
    """Nodes that do something else than before, or after something else."""
    return [
        key
        for key, node in document.nodes.items()
        if _deed(node) != _deed(before.nodes.get(key))
        or _sources(document, key) != _sources(before, key)
        or (node.type == "call" and document.calls != before.calls)
    ]


def _deed(node: NodeDocument | None) -> NodeDocument | None:
    """Without what is only shown."""
    return None if node is None else replace(node, name=None)


def _sources(document: Document, key: str) -> set[tuple[str, str | None]]:
    return {(edge.source, edge.outcome) for edge in document.edges if edge.target == key}


def _handles(document: Document, key: str) -> bool:
    return document.nodes[key].continue_on_error or any(
        edge.source == key and edge.outcome in _HANDLED_BY for edge in document.edges
    )
