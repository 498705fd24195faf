import pytest

from riven.core.errors import Problem
from riven.nodes.contract import NodeError
from riven.nodes.decisions import decided, expired, form_fault, form_problems

FORM = {
    "type": "object",
    "required": ["amount"],
    "properties": {"amount": {"type": "number"}, "lines": {"type": "array", "items": {"type": "string"}}},
}


def test_a_decision_leaves_who_decided_what_when() -> None:
    result = decided("rejected", by="ada", at=0, comment="too much", data={"amount": 1})
    assert result.outcome == "rejected"
    assert result.output == {
        "decision": "rejected",
        "by": "ada",
        "at": "1970-01-01T00:00:00.000Z",
        "comment": "too much",
        "data": {"amount": 1},
    }


def test_what_nobody_decided_has_the_same_fields() -> None:
    assert expired() == {"decision": "expired", "by": None, "at": None, "comment": None, "data": None}


def test_what_is_wrong_with_a_form_says_where() -> None:
    fault = form_fault({"properties": {"amount": {"type": "nope"}}})
    assert fault is not None
    assert fault.startswith("`properties.amount.type`: ")


def test_data_that_fits_has_no_problems() -> None:
    assert form_problems(FORM, {"amount": 1, "lines": ["a"]}) == ()
    assert form_problems(None, {"any": "thing"}) == ()


def test_every_misfit_is_named_by_its_path() -> None:
    problems = form_problems(FORM, {"lines": ["a", 5]})
    assert {problem.path for problem in problems} == {"data", "data.lines[1]"}
    assert all(isinstance(problem, Problem) and problem.code == "form_mismatch" for problem in problems)


def test_no_data_does_not_fit_a_form_that_asks_for_some() -> None:
    assert [problem.path for problem in form_problems(FORM, None)] == ["data"]


def test_a_long_value_makes_no_long_message() -> None:
    (problem,) = form_problems({"type": "number"}, "x" * 10_000)
    assert len(problem.message) < 400


@pytest.mark.parametrize(
    "form",
    [
        {"type": "nope"},
        {"properties": 5},
        {"pattern": "("},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$ref": "file:///etc/passwd"},
    ],
)
def test_what_is_no_schema_says_so_and_nothing_is_fetched(form: dict[str, object]) -> None:
    assert form_fault(form) is not None
    with pytest.raises(NodeError, match="form"):
        form_problems(form, {})
