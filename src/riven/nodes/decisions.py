"""What people decide in an approval: the output it leaves, and whether the data they gave fits the form."""

from collections.abc import Mapping
from typing import Literal

import jsonschema_rs

from riven.core.errors import ErrorClass, Problem
from riven.nodes.contract import NodeError, NodeResult
from riven.wire.document import Json
from riven.wire.times import to_rfc3339

APPROVED: Literal["approved"] = "approved"
REJECTED: Literal["rejected"] = "rejected"
EXPIRED: Literal["expired"] = "expired"

Decision = Literal["approved", "rejected"]


def decided(
    decision: Decision, *, by: str | None, at: int, comment: str | None = None, data: Json = None
) -> NodeResult:
    """The result of an approval that somebody decided; `at` in milliseconds since the epoch."""
    output = {"decision": decision, "by": by, "at": to_rfc3339(at), "comment": comment, "data": data}
    return NodeResult(output, decision)


def expired() -> dict[str, Json]:
    """The output of an approval that nobody decided in time."""
    return {"decision": EXPIRED, "by": None, "at": None, "comment": None, "data": None}


def form_fault(form: Mapping[str, Json]) -> str | None:
    """Why a form is no JSON Schema; None when it is one. References to other files and addresses are not followed."""
    try:
        jsonschema_rs.validator_for(dict(form), offline=True)
    except jsonschema_rs.ValidationError as error:
        place = ".".join(map(str, error.instance_path))
        return _short(f"`{place}`: {error.message}" if place else error.message)
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        return _short(str(error).partition("\n")[0])
    return None


def form_problems(form: Mapping[str, Json] | None, data: Json) -> tuple[Problem, ...]:
    """Everything in which the data of a decision does not fit its form; paths start with `data`.

    Raises:
        NodeError: the form itself is no JSON Schema, which the approval has refused before it began.
    """
    if form is None:
        return ()
    fault = form_fault(form)
    if fault is not None:
        raise NodeError(ErrorClass.VALIDATION_ERROR, f"form: {fault}")
    validator = jsonschema_rs.validator_for(dict(form), offline=True)
    return tuple(
        Problem(path=_path(error.instance_path), code="form_mismatch", message=_short(error.message))
        for error in validator.iter_errors(data)
    )


def _path(parts: list[str | int]) -> str:
    return "data" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _short(message: str, limit: int = 300) -> str:
    return message if len(message) <= limit else f"{message[: limit // 2]} ... {message[-limit // 2 :]}"
