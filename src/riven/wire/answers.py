"""A node's answers as a journal keeps them: what the coordinator must hear again, letter for letter."""

from typing import Any, TypeAlias

from riven.core.errors import ErrorClass
from riven.core.ids import NodePath
from riven.core.messages import NodeCompleted, NodeFailed

Answer: TypeAlias = NodeCompleted | NodeFailed


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """Without the path, which the row has; fields at their defaults are left out."""
    if isinstance(answer, NodeCompleted):
        shown = {"at": answer.at, "outcome": answer.outcome, "fanOut": answer.fan_out, "due": answer.due}
        return {name: value for name, value in shown.items() if value is not None}
    return {
        "at": answer.at,
        "errorClass": answer.error_class.value,
        "retryable": answer.retryable,
        "retryAfter": answer.retry_after,
        "jitter": answer.jitter,
        "canceled": answer.canceled,
    }


def answer_from_json(path: NodePath, data: dict[str, Any]) -> Answer:
    if "errorClass" in data:
        return NodeFailed(
            path,
            data["at"],
            ErrorClass(data["errorClass"]),
            retryable=data["retryable"],
            retry_after=data["retryAfter"],
            jitter=data["jitter"],
            canceled=data["canceled"],
        )
    return NodeCompleted(path, data["at"], data["outcome"], data.get("fanOut"), data.get("due"))
