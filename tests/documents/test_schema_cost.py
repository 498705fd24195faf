import pytest

from riven.documents.schema_cost import ENDLESS, levels_of, looks
from riven.wire.document import Json


@pytest.mark.parametrize(
    ("schema", "levels", "expected"),
    [
        ({}, 3, 1),
        ({"properties": {"a": {"$ref": "#"}}}, 50, 1),
        ({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "items": {"$ref": "#"}}, 50, 1),
        ({"properties": {"a": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}}, 50, 1),
        ({"properties": {"a": {"$ref": "#"}}, "patternProperties": {"a": {"$ref": "#"}}}, 3, 8),
        ({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"additionalProperties": {"$ref": "#"}}]}, 3, 8),
        ({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}, 4, 16),
        ({"oneOf": [{"items": {"$ref": "#"}}, {"prefixItems": [{"$ref": "#"}]}]}, 4, 16),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 9, 1),
        ({"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#x"}}, "b": {"$anchor": "x"}}}, 0, 5),
        ({"if": {"$ref": "#/$defs/a"}, "then": {"$ref": "#/$defs/a"}, "else": {"$ref": "#/nowhere"}, "$defs": {"a": {}}}, 0, 3),
        ({"allOf": 3, "properties": [], "$ref": {}, "prefixItems": {}, "patternProperties": 1}, 3, 1),
    ],
)  # fmt: skip
def test_looks_at_one_place_are_counted(schema: Json, levels: int, expected: int) -> None:
    assert looks(schema, levels) == expected


def test_growth_without_end_is_noticed_soon() -> None:
    definitions: Json = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(500)}
    assert looks({"$ref": "#/$defs/d0", "$defs": definitions}, 0) >= ENDLESS
    twice = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    assert looks(twice, 100) >= ENDLESS


def test_a_value_has_levels_and_parts() -> None:
    assert levels_of(3) == (0, 1)
    assert levels_of({"a": [1, {"b": 2}], "c": {}}) == (3, 6)
