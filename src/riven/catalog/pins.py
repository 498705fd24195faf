"""Pin the workflows that a document calls to the versions that they had when it was published."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from riven.wire.document import BodyDocument, Document, NodeDocument, call_key

CALL = "call"


def called_versions(document: Document) -> Iterator[tuple[str, int]]:
    """What the nodes of a pinned document call, as name and version; not what those call in turn."""
    todo: list[NodeDocument] = list(document.nodes.values())
    while todo:
        node = todo.pop()
        if node.type == CALL:
            yield node.config["workflow"], node.config["version"]
        if node.body is not None:
            todo += node.body.nodes.values()


def pin_calls(document: Document, versions: Mapping[str, int]) -> Document:
    """`versions`: of every workflow that is called without saying which, the one that it is called at from now on."""
    if not document.calls:
        return document
    calls = {_pinned_key(key, versions): called for key, called in document.calls.items()}
    return replace(document, nodes=_pinned(document.nodes.values(), versions), calls=calls)


def _pinned_key(key: str, versions: Mapping[str, int]) -> str:
    return call_key(key, versions[key]) if key in versions else key


def _pinned(nodes: Iterable[NodeDocument], versions: Mapping[str, int]) -> dict[str, NodeDocument]:
    return {node.key: _pinned_node(node, versions) for node in nodes}


def _pinned_node(node: NodeDocument, versions: Mapping[str, int]) -> NodeDocument:
    if node.type == CALL and node.config.get("version") is None:
        config = {**node.config, "version": versions[node.config["workflow"]]}
        return replace(node, config=config)
    return node if node.body is None else replace(node, body=_pinned_body(node.body, versions))


def _pinned_body(body: BodyDocument, versions: Mapping[str, int]) -> BodyDocument:
    return replace(body, nodes=_pinned(body.nodes.values(), versions))
