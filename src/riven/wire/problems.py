"""Problems of a document as rows and answers keep them."""

from typing import Any

from riven.core.errors import Problem


def problem_to_json(problem: Problem) -> dict[str, Any]:
    return {
        "path": _whole(problem.path),
        "line": problem.line,
        "column": problem.column,
        "code": problem.code,
        "severity": problem.severity.value,
        "message": _whole(problem.message),
    }


def _whole(text: str) -> str:
    """Without halves of surrogate pairs, which no JSON can be written with: what is wrong may be just that."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
