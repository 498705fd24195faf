import json

import pytest
from bench.documents import document
from bench.shapes import layered

from riven.documents.load import load_document
from riven.nodes.registry import Registry

SIZES = {"noop1": 1, "chain10": 10, "fan50": 52, "sleepfan": 20}


@pytest.mark.parametrize(("kind", "nodes"), SIZES.items())
def test_every_workload_is_a_valid_document_of_its_size(kind: str, nodes: int) -> None:
    assert _nodes(kind) == nodes


def test_a_layered_graph_has_three_parents_a_node() -> None:
    assert _nodes("bigdag", layers=20, width=50) == 1_000
    above = layered(20, 50)
    assert {len(parents) for layer in above[1:] for parents in layer} == {3}
    assert all(not parents for parents in above[0])
    assert layered(20, 50) == above


def _nodes(kind: str, **options: int) -> int:
    text = json.dumps(document(kind, **options))
    loaded = load_document(text, registry=Registry.discover())
    assert loaded.valid, loaded.problems[:3]
    return len(json.loads(text)["nodes"])
