from typing import Any, ClassVar, Self

import pytest
from pydantic import Field, field_validator, model_validator
from tests.documents.loading import load, nodes, shown

from riven.documents.configs import expression_places
from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType
from riven.nodes.registry import Registry
from riven.wire.document import Json


class OddConfig(Config):
    size: int = Field(default=1, ge=1)
    low: int | None = None
    high: int | None = None
    items: list[int] = Field(default=[])
    fixed: str = "a"
    strange: Any = None

    @field_validator("strange")
    @classmethod
    def _raises(cls, value: object) -> object:
        if value == "boom":
            raise RuntimeError("of its own")
        return value

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.low is not None and self.high is not None:
            raise ValueError("write only one of `low` and `high`")
        return self


class Odd(NodeType[OddConfig]):
    type = "odd"
    title = "Odd"
    description = "For tests."
    config = OddConfig
    static_fields: ClassVar = ("fixed",)

    def labels(self, config: Any) -> tuple[str, ...]:  # noqa: ANN401
        if config.get("strange") == "labels":
            raise RuntimeError("of its own")
        return ("success", config.get("strange"), ["x"])  # type: ignore[return-value]

    async def run(self, config: OddConfig, context: NodeContext) -> NodeResult:
        raise NotImplementedError


REGISTRY = Registry().with_types(Odd)


def told(config: str) -> list[str]:
    return shown(load(nodes(f"  a: {{type: odd, with: {{{config}}}}}"), registry=REGISTRY))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", []),
        ("size: '{{ input.size }}'", []),
        ("size: '{{ input.size }}', low: 1, high: 2", ["3 nodes.a.with invalid_value"]),
        ("low: 1, high: 2", ["3 nodes.a.with invalid_value"]),
        ("low: '{{ input.a }}', high: '{{ input.b }}'", ["3 nodes.a.with invalid_value"]),
        ("size: 0, low: 1, high: 2", ["3 nodes.a.with invalid_value", "3 nodes.a.with.size invalid_value"]),
        ("sise: 0, low: 1, high: 2", ["3 nodes.a.with.sise unknown_field"]),
        ("items: '{{ input.items }}'", []),
        ("items: ['{{ input.item }}', 2]", []),
        ("items: ['{{ input.item }}', x]", ["3 nodes.a.with.items[1] wrong_type"]),
        ("items: {a: '{{ input.item }}'}", ["3 nodes.a.with.items wrong_type"]),
        ("fixed: '{{ input.x }}'", ["3 nodes.a.with.fixed template_not_allowed"]),
        ("fixed: '{{ 1 + }}'", ["3 nodes.a.with.fixed template_not_allowed"]),
        ("strange: boom", ["3 nodes.a.with invalid_value"]),
        ("strange: labels", []),
        ("strange: {a: [1]}", []),
    ],
)
def test_what_is_known_before_the_run_is_checked_before_the_run(config: str, expected: list[str]) -> None:
    assert told(config) == expected


def test_labels_of_a_foreign_type_are_taken_as_far_as_they_are_any() -> None:
    loaded = load(
        nodes("  a: {type: odd, with: {strange: red}}\n  b: {type: odd, needs: [{node: a, outcome: red}]}"),
        registry=REGISTRY,
    )
    assert loaded.problems == ()
    assert loaded.graph is not None
    assert [node.labels for node in loaded.graph.nodes] == [("success", "red"), ("success",)]


@pytest.mark.parametrize(
    ("config", "fields", "places"),
    [
        ({"if": "x"}, ("if",), [("if",)]),
        ({}, ("if",), []),
        ({"if": None}, ("if",), []),
        (
            {"cases": [{"if": "a"}, {}, 3, {"if": True}]},
            ("cases[].if",),
            [("cases", 0, "if"), ("cases", 3, "if")],
        ),
        ({"cases": {"if": "a"}}, ("cases[].if",), []),
        ({"a": {"b": {"c": 1}}}, ("a.b.c", "a.x"), [("a", "b", "c")]),
        ({"a": [{"b": [{"c": 1}]}]}, ("a[].b[].c",), [("a", 0, "b", 0, "c")]),
    ],
)
def test_the_places_of_bare_expressions_are_found(
    config: Json, fields: tuple[str, ...], places: list[Any]
) -> None:
    assert list(expression_places(config, fields)) == places
