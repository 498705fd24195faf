import orjson

from riven.core.errors import Problem, Severity
from riven.wire.problems import problem_to_json


def test_a_problem_is_shown_with_its_place() -> None:
    problem = Problem(
        path="nodes.a", code="x", message="mend it", severity=Severity.WARNING, line=3, column=5
    )
    assert problem_to_json(problem) == {
        "path": "nodes.a",
        "line": 3,
        "column": 5,
        "code": "x",
        "severity": "warning",
        "message": "mend it",
    }


def test_what_is_wrong_may_be_what_no_json_can_hold() -> None:
    shown = problem_to_json(Problem(path="a\ud800", code="x", message="b\udfffé"))
    assert (shown["path"], shown["message"]) == ("a?", "b?é")
    assert orjson.dumps(shown)
