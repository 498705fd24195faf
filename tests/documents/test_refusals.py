import pytest

from riven.documents.input import check_input
from riven.wire.document import Document, Json


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"const": 3}, 4, "must be 3, not the number 4"),
        ({"minimum": 3}, 1, "at least 3"),
        ({"maximum": 3}, 4, "at most 3"),
        ({"exclusiveMaximum": 3}, 3, "less than 3"),
        ({"multipleOf": 2}, 3, "a multiple of 2"),
        ({"minLength": 3}, "a", "at least 3 characters"),
        ({"maxLength": 1}, "abc", "at most 1 characters"),
        ({"minItems": 1}, [], "must not be empty"),
        ({"maxItems": 1}, [1, 2], "at most 1 elements"),
        ({"uniqueItems": True}, [1, 1], "twice"),
        ({"pattern": "^a"}, "b", "must match ^a"),
        ({"format": "date"}, "soon", "written as a date"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 3, "none of the alternatives"),
        ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, "more than one of the alternatives"),
        (False, 3, "nothing may stand here"),
        ({"type": ["string", "null"]}, 3, "null or text, not the number 3"),
        ({"unevaluatedProperties": False}, {"k": 1}, "no field `k`"),
        ({"not": {"type": "string"}}, "x", "not allowed"),
        ({"enum": list(range(50))}, 60, "and 40 more"),
    ],
)
def test_every_keyword_has_words(schema: Json, value: Json, words: str) -> None:
    [problem] = check_input(Document(name="x", input={"properties": {"a": schema}}), {"a": value})[1]
    assert words in problem.message
    assert problem.path.startswith("input.a")


def test_values_are_shown_shortly_and_printably() -> None:
    schema = {
        "properties": {"a": {"enum": ["x" * 500]}, "b\x07": {"type": "integer"}},
        "additionalProperties": False,
    }
    value = {"a": "\x1b[2J" * 1_000, "b\x07": "c", "d" * 9_000: 1}
    problems = check_input(Document(name="x", input=schema), value)[1]
    assert len(problems) == 3
    for problem in problems:
        assert (problem.path + problem.message).isprintable()
        assert len(problem.path) + len(problem.message) < 400
