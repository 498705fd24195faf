import pytest

from riven.documents.defaults import LargeDefaultsError, fill_defaults
from riven.wire.document import Json


@pytest.mark.parametrize(
    ("schema", "value", "filled"),
    [
        ({"properties": {"a": {"default": 1}}}, {}, {"a": 1}),
        ({"properties": {"a": {"default": 1}}}, {"a": None}, {"a": None}),
        ({"properties": {"a": {"properties": {"b": {"default": 1}}}}}, {}, {}),
        ({"properties": {"a": {"properties": {"b": {"default": 1}}}}}, {"a": {}}, {"a": {"b": 1}}),
        ({"properties": {"a": {"default": {}, "properties": {"b": {"default": 1}}}}}, {}, {"a": {"b": 1}}),
        ({"properties": {"a": {"items": {"properties": {"b": {"default": 1}}}}}}, {"a": [{}, 3]}, {"a": [{"b": 1}, 3]}),
        (
            {"properties": {"a": {"prefixItems": [{"properties": {"b": {"default": 1}}}], "items": {"properties": {"c": {"default": 2}}}}}},
            {"a": [{}, {}]},
            {"a": [{"b": 1}, {"c": 2}]},
        ),
        ({"additionalProperties": {"properties": {"b": {"default": 1}}}}, {"x": {}}, {"x": {"b": 1}}),
        ({"allOf": [{"properties": {"a": {"default": 1}}}, {"properties": {"a": {"default": 2}, "b": {"default": 3}}}]}, {}, {"a": 1, "b": 3}),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {"default": 1}}}}}, {}, {"a": 1}),
        ({"$ref": "#x", "$defs": {"y": {"$anchor": "x", "properties": {"a": {"default": 1}}}}}, {}, {"a": 1}),
        ({"$ref": "#/nowhere", "properties": {"a": {"default": 1}}}, {}, {"a": 1}),
        ({"anyOf": [{"properties": {"a": {"default": 1}}}]}, {}, {}),
        ({"properties": {"a": True, "b": {"default": False}}}, {}, {"b": False}),
        ({"properties": 3, "allOf": 4, "items": 5, "$ref": 6}, {"a": {}}, {"a": {}}),
        (True, {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_defaults_are_filled_in_where_a_field_is_missing(schema: Json, value: Json, filled: Json) -> None:
    assert fill_defaults(schema, value) == filled


def test_neither_the_value_nor_the_schema_is_changed() -> None:
    schema = {"properties": {"a": {"default": {"b": []}}}}
    value: Json = {}
    first = fill_defaults(schema, value)
    first["a"]["b"].append(1)
    assert value == {}
    assert fill_defaults(schema, value) == {"a": {"b": []}}


def test_a_recursive_default_ends() -> None:
    schema = {"properties": {"child": {"$ref": "#", "default": {}}}}
    assert fill_defaults(schema, {}) == {"child": {}}
    assert fill_defaults(schema, {"child": {"child": {}}}) == {"child": {"child": {"child": {}}}}


def test_references_in_a_circle_end() -> None:
    schema = {
        "$ref": "#/$defs/a",
        "$defs": {
            "a": {"$ref": "#/$defs/b"},
            "b": {"$ref": "#/$defs/a", "properties": {"x": {"default": 1}}},
        },
    }
    assert fill_defaults(schema, {}) == {"x": 1}


def test_a_large_default_in_each_element_of_a_long_list_is_refused_before_it_fills_the_memory() -> None:
    schema = {"properties": {"items": {"items": {"properties": {"x": {"default": "a" * 100_000}}}}}}
    assert len(fill_defaults(schema, {"items": [{}] * 40})["items"]) == 40
    with pytest.raises(LargeDefaultsError, match="more than 4 MiB"):
        fill_defaults(schema, {"items": [{} for _ in range(100_000)]})
