"""A graph as JSON, without what is at its default and without what only people read."""

from typing import Any

from riven.core.graph import (
    Edge,
    Graph,
    Join,
    JoinRule,
    Node,
    NodeKind,
    OnFailure,
    OnItemFailure,
    RetryOverride,
)
from riven.core.ids import NodeKey

_RETRY = ("max_attempts", "initial_interval", "multiplier", "max_interval", "jitter", "max_duration")
_PLAIN = ("pure", "timeout", "continue_on_error", "concurrency", "max_iterations", "delay", "check_first")
_DEFAULT = Node(key=NodeKey(""), type="")


def graph_to_json(graph: Graph) -> dict[str, Any]:
    data: dict[str, Any] = {
        "nodes": [_node_to_json(node) for node in graph.nodes],
        "edges": [
            [each.source, each.target] if each.outcome is None else [each.source, each.target, each.outcome]
            for each in graph.edges
        ],
    }
    if graph.on_failure is not OnFailure.FAIL_FAST:
        data["onFailure"] = graph.on_failure.value
    if graph.timeout is not None:
        data["timeout"] = graph.timeout
    if graph.has_output:
        data["output"] = True
    return data


def graph_from_json(data: dict[str, Any]) -> Graph:
    return Graph(
        tuple(_node_from_json(each) for each in data["nodes"]),
        tuple(Edge(each[0], each[1], each[2] if len(each) > 2 else None) for each in data["edges"]),
        OnFailure(data.get("onFailure", OnFailure.FAIL_FAST)),
        data.get("timeout"),
        data.get("output", False),
    )


def _node_to_json(node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {"key": node.key}
    if node.kind is not NodeKind.ACTION:
        data["kind"] = node.kind.value
    if node.labels != _DEFAULT.labels:
        data["labels"] = list(node.labels)
    if node.join != _DEFAULT.join:
        data["join"] = [node.join.rule.value, node.join.count]
    if node.retry is not None:
        data["retry"] = {name: value for name in _RETRY if (value := getattr(node.retry, name)) is not None}
    if node.on_item_failure is not _DEFAULT.on_item_failure:
        data["onItemFailure"] = node.on_item_failure.value
    if node.body is not None:
        data["body"] = graph_to_json(node.body)
    for name in _PLAIN:
        if (value := getattr(node, name)) != getattr(_DEFAULT, name):
            data[name] = value
    return data


def _node_from_json(data: dict[str, Any]) -> Node:
    join = data.get("join")
    return Node(
        key=NodeKey(data["key"]),
        type="",
        kind=NodeKind(data.get("kind", NodeKind.ACTION)),
        labels=tuple(data.get("labels", _DEFAULT.labels)),
        join=_DEFAULT.join if join is None else Join(JoinRule(join[0]), join[1]),
        retry=RetryOverride(**data["retry"]) if "retry" in data else None,
        on_item_failure=OnItemFailure(data.get("onItemFailure", _DEFAULT.on_item_failure)),
        body=graph_from_json(data["body"]) if "body" in data else None,
        **{name: data[name] for name in _PLAIN if name in data},
    )
