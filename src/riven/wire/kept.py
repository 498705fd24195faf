"""What earlier runs of an execution have left, without values, and how it is written as JSON."""

from dataclasses import dataclass, field
from typing import Any

from riven.core.errors import ErrorClass
from riven.core.ids import NodePath
from riven.core.messages import NodeCompleted, NodeFailed, NodeStatus
from riven.wire.answers import answer_from_json, answer_to_json


@dataclass(frozen=True, slots=True)
class KeptNode:
    """How a node stood when the runs before this one were over."""

    status: NodeStatus
    seq: int
    """Place in the journal of what is told here."""
    outcome: str | None = None
    error_class: ErrorClass | None = None


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A step of an item or an iteration, and its place in the journal."""

    seq: int
    answer: NodeCompleted | NodeFailed


@dataclass(frozen=True, slots=True)
class Kept:
    """What the runs before this one have left, without values."""

    nodes: dict[NodePath, KeptNode] = field(default_factory=dict)
    scopes: dict[NodePath, KeptStep] = field(default_factory=dict)
    checks: dict[NodePath, KeptStep] = field(default_factory=dict)


def kept_to_json(kept: Kept) -> dict[str, Any]:
    return {
        "nodes": {
            path: [each.status.value, each.seq, each.outcome, each.error_class and each.error_class.value]
            for path, each in kept.nodes.items()
        },
        "scopes": {path: [each.seq, answer_to_json(each.answer)] for path, each in kept.scopes.items()},
        "checks": {path: [each.seq, answer_to_json(each.answer)] for path, each in kept.checks.items()},
    }


def kept_from_json(data: dict[str, Any]) -> Kept:
    return Kept(
        {
            NodePath(path): KeptNode(
                NodeStatus(status), seq, outcome, None if error_class is None else ErrorClass(error_class)
            )
            for path, (status, seq, outcome, error_class) in data["nodes"].items()
        },
        _steps(data["scopes"]),
        _steps(data["checks"]),
    )


def _steps(data: dict[str, Any]) -> dict[NodePath, KeptStep]:
    return {
        NodePath(path): KeptStep(seq, answer_from_json(NodePath(path), answer))
        for path, (seq, answer) in data.items()
    }
