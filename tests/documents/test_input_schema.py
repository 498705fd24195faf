import pytest
from tests.documents.loading import load, shown


def problems(schema: str) -> list[str]:
    return shown(load(f"name: x\ninput: {schema}"))


@pytest.mark.parametrize(
    "schema",
    [
        "{}",
        "{type: object, required: [a], properties: {a: {type: [string, 'null'], format: email, default: x}}}",
        "{$schema: 'https://json-schema.org/draft/2020-12/schema', $ref: '#/$defs/a', $defs: {a: {type: object}}}",
        "{properties: {a: {$ref: '#a'}}, $defs: {b: {$anchor: a}}}",
        "{properties: {child: {$ref: '#'}}}",
        "{properties: {$ref: {type: string}, default: {const: {$ref: 'http://x'}}}}",
        "{default: {$ref: 'http://x'}, examples: [{$id: x}], x-order: 3}",
    ],
)
def test_json_schema_2020_12_is_taken(schema: str) -> None:
    assert problems(schema) == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("{type: strin}", ["2 input.type invalid_schema"]),
        ("{properties: {a: 3, b: {minimum: x}}}", ["2 input.properties.a invalid_schema", "2 input.properties.b.minimum invalid_schema"]),
        ("{required: a}", ["2 input.required invalid_schema"]),
        ("{properties: {a: {pattern: '(('}}}", ["2 input.properties.a.pattern invalid_schema"]),
        ("{properties: {a: {$ref: 'http://127.0.0.1/x'}}}", ["2 input.properties.a.$ref invalid_schema"]),
        ("{$ref: 'file:///etc/passwd'}", ["2 input.$ref invalid_schema"]),
        ("{$ref: other.json}", ["2 input.$ref invalid_schema"]),
        ("{$ref: '#/$defs/nobody'}", ["2 input invalid_schema"]),
        ("{$schema: 'http://json-schema.org/draft-07/schema#'}", ["2 input.$schema invalid_schema"]),
        ("{$defs: {a: {$id: 'http://x/y'}}}", ["2 input.$defs.a.$id invalid_schema"]),
        ("{requierd: [a], properties: {requierd: {typ: string}}}", ["2 input.requierd unknown_field?", "2 input.properties.requierd.typ unknown_field?"]),
    ],
)  # fmt: skip
def test_what_is_none_is_told_at_its_place(schema: str, expected: list[str]) -> None:
    assert problems(schema) == expected


def test_a_wrong_type_lists_the_right_ones() -> None:
    [problem] = load("name: x\ninput: {properties: {a: {type: strng}}}").problems
    assert problem.message == (
        "`type` must be one of string, number, integer, boolean, object, array, null, or a list of these;"
        " did you mean 'string'?"
    )


def test_a_schema_that_grows_without_end_is_refused() -> None:
    definitions = ", ".join(
        f"d{n}: {{allOf: [{{$ref: '#/$defs/d{n + 1}'}}, {{$ref: '#/$defs/d{n + 1}'}}]}}" for n in range(40)
    )
    [line] = problems(f"{{$ref: '#/$defs/d0', $defs: {{{definitions}, d40: {{}}}}}}")
    assert line == "2 input invalid_schema"
