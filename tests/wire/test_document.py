import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.core.errors import InvalidDocumentError
from riven.wire.document import (
    BodyDocument,
    Document,
    EdgeDocument,
    Json,
    NodeDocument,
    RetryDocument,
    call_key,
    from_json,
    to_json,
)

KEYS = st.text("abcxyz_", min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SMALL = st.none() | st.integers(0, 10**6)
RETRIES = st.none() | st.builds(
    RetryDocument,
    max_attempts=SMALL,
    initial_interval=SMALL,
    multiplier=st.none() | st.floats(1, 10),
    max_interval=SMALL,
    jitter=st.none() | st.floats(0, 1),
    max_duration=SMALL,
)
EDGES = st.lists(st.builds(EdgeDocument, KEYS, KEYS, st.none() | st.text()), max_size=3).map(tuple)


def nodes(bodies: st.SearchStrategy[BodyDocument]) -> st.SearchStrategy[dict[str, NodeDocument]]:
    node = st.builds(
        NodeDocument,
        key=KEYS,
        type=st.text(max_size=5),
        name=st.none() | st.text(),
        config=st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
        when=st.none() | st.booleans() | st.text(),
        join=st.sampled_from(["none_failed", "atLeast"]),
        at_least=st.integers(0, 9),
        retry=RETRIES,
        timeout=SMALL,
        continue_on_error=st.booleans(),
        body=st.none() | bodies,
    )
    return st.lists(node, max_size=3, unique_by=lambda each: each.key).map(
        lambda each: {node.key: node for node in each}
    )


def bodies(inner: st.SearchStrategy[BodyDocument]) -> st.SearchStrategy[BodyDocument]:
    return st.builds(BodyDocument, nodes=nodes(inner), edges=EDGES, output=VALUES, has_output=st.booleans())


def documents(calls: st.SearchStrategy[dict[str, Document]]) -> st.SearchStrategy[Document]:
    return st.builds(
        Document,
        name=st.text(),
        description=st.none() | st.text(),
        input=st.none() | st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
        vars=st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
        timeout=SMALL,
        on_failure=st.sampled_from(["fail_fast", "finish_branches"]),
        nodes=nodes(bodies(st.just(BodyDocument()))),
        edges=EDGES,
        output=VALUES,
        has_output=st.booleans(),
        calls=calls,
    )


DOCUMENTS = documents(
    st.dictionaries(KEYS.map(lambda key: call_key(key, 3)), documents(st.just({})), max_size=2)
)


@given(DOCUMENTS)
def test_a_document_comes_back_from_json_as_it_was(document: Document) -> None:
    assert from_json(json.loads(json.dumps(to_json(document)))) == document


@given(DOCUMENTS)
def test_the_order_of_nodes_outlives_a_store_that_sorts_keys(document: Document) -> None:
    again = from_json(json.loads(json.dumps(to_json(document), sort_keys=True)))
    assert list(again.nodes) == list(document.nodes)


def test_fields_of_a_later_release_are_passed_over() -> None:
    data = to_json(Document(name="x", nodes={"a": NodeDocument(key="a", type="noop")}))
    data["later"] = 1
    data["nodes"][0]["later"] = {}
    assert from_json(data).nodes["a"].type == "noop"


@pytest.mark.parametrize(
    ("damage", "path"),
    [
        (lambda data: data.pop("name"), "name"),
        (lambda data: data.update(nodes={}), "nodes"),
        (lambda data: data["nodes"].append(7), "nodes[1]"),
        (lambda data: data["nodes"].append(data["nodes"][0]), "nodes[1].key"),
        (lambda data: data["nodes"][0].update(retry={"maxAttempts": True}), "nodes[0].retry.maxAttempts"),
        (lambda data: data["edges"].append({"from": "a", "to": None}), "edges[0].to"),
        (lambda data: data["calls"].update(other={}), "calls.other.calls"),
    ],
)
def test_a_damaged_row_names_the_place(damage: Any, path: str) -> None:  # noqa: ANN401 - any of the lambdas above
    data = json.loads(
        json.dumps(to_json(Document(name="x", nodes={"a": NodeDocument(key="a", type="noop")})))
    )
    damage(data)
    with pytest.raises(InvalidDocumentError) as caught:
        from_json(data)
    [problem] = caught.value.problems
    assert (problem.path, problem.code) == (path, "damaged_document")


@given(VALUES)
def test_any_json_is_a_document_or_damaged(data: Json) -> None:
    with pytest.raises(InvalidDocumentError):
        from_json(data)


def test_a_row_nested_without_end_is_damaged() -> None:
    data: Json = None
    for _ in range(5_000):
        data = {"nodes": [{"key": "a", "type": "t", "with": {}, "join": "all", "body": data}], "edges": []}
    data.update(name="x", vars={}, onFailure="fail_fast", calls={})
    with pytest.raises(InvalidDocumentError, match="nested too deep"):
        from_json(data)


def test_a_called_workflow_is_kept_by_name_and_version() -> None:
    assert call_key("charge", None) == "charge"
    assert call_key("charge", 3) == "charge@3"
