import copy
from pathlib import Path

import jsonschema_rs
import pytest
from tests.conformance.scripted import Scripted
from tests.documents.loading import nodes
from tests.documents.test_load import REFUND

from riven.documents.parse import parse
from riven.documents.schema import DIALECT, document_schema
from riven.nodes.registry import BUILTIN, Registry
from riven.wire.document import Json

SCHEMA = document_schema(Registry())
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)


def value(text: str) -> Json:
    tree = parse(text).tree
    assert tree is not None
    return tree.value


def test_the_schema_is_json_schema_2020_12() -> None:
    assert SCHEMA["$schema"] == DIALECT
    jsonschema_rs.meta.validate(SCHEMA)
    assert SCHEMA["required"] == ["name"]
    assert SCHEMA["additionalProperties"] is False


def test_every_field_is_explained_to_those_who_write_it() -> None:
    for definition in (
        SCHEMA,
        *(SCHEMA["$defs"][f"{name}Fields"] for name in ("Node", "Edge", "Need", "Retry", "Body")),
    ):
        for name, field in definition["properties"].items():
            assert field.get("description"), name


def test_every_type_has_its_configuration() -> None:
    types = [each["const"] for each in SCHEMA["$defs"]["NodeFields"]["properties"]["type"]["oneOf"]]
    assert types == list(BUILTIN)
    for name in types:
        assert SCHEMA["$defs"][f"{name}.with"]["additionalProperties"] is False


def test_types_of_packages_are_in_it() -> None:
    schema = document_schema(Registry().with_types(Scripted))
    assert "scripted.with" in schema["$defs"]
    document = {"name": "x", "nodes": {"a": {"type": "scripted", "with": {"labels": ["red"]}}}}
    assert jsonschema_rs.validator_for(schema).is_valid(document)
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("path", sorted(Path("examples").rglob("*.yaml")), ids=str)
def test_examples_fit(path: Path) -> None:
    VALIDATOR.validate(value(path.read_text(encoding="utf-8")))


def test_the_document_of_the_reference_fits() -> None:
    VALIDATOR.validate(value(REFUND))


@pytest.mark.parametrize(
    "text",
    [
        nodes("  a: {type: wait, with: {for: '{{ input.x }}'}}"),
        nodes("  a: {type: http_request, with: {url: 'http://x', method: '{{ input.m }}', headers: {a: '{{ input.h }}'}}}"),
        nodes("  a: {type: condition, with: {if: true}}\n  b: {type: noop, needs: [{node: a, outcome: true}], join: {atLeast: 1}}"),
        nodes("  a: {type: noop, when: false, retry: {initialInterval: 1.5, jitter: 0}, timeout: PT5M, position: {x: 1}}"),
        "name: x\nnodes:\nedges:\nvars:\n",
    ],
)  # fmt: skip
def test_what_validation_takes_fits(text: str) -> None:
    VALIDATOR.validate(value(text))


@pytest.mark.parametrize(
    "text",
    [
        "nodes: {}",
        "name: x\nnodez: {}",
        "name: My Flow",
        nodes("  a: {}"),
        nodes("  a: {type: nope}"),
        nodes("  a-b: {type: noop}"),
        nodes("  a: {type: wait, with: {fore: 1s}}"),
        nodes("  a: {type: http_request}"),
        nodes("  a: {type: http_request, with: {url: 'http://x', method: GOT}}"),
        nodes("  a: {type: for_each, with: {items: [], concurrency: '{{ input.x }}'}, body: {nodes: {b: {type: noop}}}}"),
        nodes("  a: {type: for_each, with: {items: []}, body: {nodes: {b: {type: nope}}}}"),
        nodes("  a: {type: noop, join: most}"),
        nodes("  a: {type: noop, join: {atLeast: 0}}"),
        nodes("  a: {type: noop, retry: {maxAttempts: 0}}"),
        nodes("  a: {type: noop, needs: a}"),
        "name: x\nedges: [{from: a}]",
        "name: x\nedges: [{from: a, to: b, label: c}]",
        "name: x\nonFailure: stop",
    ],
)  # fmt: skip
def test_what_validation_refuses_by_field_does_not_fit(text: str) -> None:
    assert not VALIDATOR.is_valid(value(text))


def test_making_it_twice_gives_the_same() -> None:
    before = copy.deepcopy(SCHEMA)
    assert document_schema(Registry()) == before == SCHEMA
