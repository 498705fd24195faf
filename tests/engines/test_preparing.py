from riven.core.errors import InvalidDocumentError, Problem
from riven.engines.preparing import all_problems


def test_all_problems_are_told_each_with_its_place_if_it_has_one():
    problems = [
        Problem(path="nodes.a", code="cycle", message="a waits for b"),
        Problem(path="", code="damaged_document", message="it is damaged"),
    ]
    assert all_problems(InvalidDocumentError(problems)) == "nodes.a: a waits for b; it is damaged"
