"""What a rerun keeps, node by node."""

import pytest

from riven.core.errors import Severity
from riven.documents.load import load_document
from riven.intake.kept import kept_nodes
from riven.nodes.registry import Registry

REGISTRY = Registry.discover()
DONE = dict.fromkeys("abcdefg", "COMPLETED")


def document(*edges: str, nodes: str = "abcdef", more: str = "", types: dict[str, str] | None = None):
    """`ab` is an edge from a to b, `ab!` one on failure."""
    written = [
        f"{{from: {edge[0]}, to: {edge[1]}{', outcome: failure' if edge.endswith('!') else ''}}}"
        for edge in edges
    ]
    keys = ", ".join(f"{key}: {(types or {}).get(key, '{type: noop}')}" for key in nodes)
    loaded = load_document(
        f"name: d\nnodes: {{{keys}}}\nedges: [{', '.join(written)}]\n{more}", registry=REGISTRY
    )
    assert not [each for each in loaded.problems if each.severity is Severity.ERROR], loaded.problems
    return loaded.document


@pytest.mark.parametrize(
    ("edges", "start", "kept"),
    [
        (("ab", "bc", "cd"), "b", "aef"),
        (("ab", "bc", "cd"), "a", "ef"),
        (("ab", "bc", "cd"), "d", "abcef"),
        (("ab", "ac", "bd", "cd", "de"), "b", "acf"),
        ((), "c", "abdef"),
    ],
)
def test_from_the_node_on_all_that_comes_after_it_runs_again(edges, start, kept):
    assert kept_nodes(document(*edges), DONE, start=start) == list(kept)


def test_only_what_completed_or_was_handled_is_kept():
    found = document("ab!", "cd", types={"e": "{type: noop, continueOnError: true}"})
    statuses = {
        "a": "FAILED",
        "b": "COMPLETED",
        "c": "FAILED",
        "d": "CANCELED",
        "e": "FAILED",
        "f": "SKIPPED",
    }
    assert kept_nodes(found, statuses, start="d") == ["a", "b", "e"]


def test_in_another_version_what_was_changed_runs_again_with_all_that_comes_after_it():
    before = document("ab", "bc", "de")
    after = document("ab", "bc", "de", types={"b": "{type: set, with: {value: 1}}"})
    assert kept_nodes(after, DONE, start="f", before=before) == ["a", "d", "e"]


def test_what_is_only_shown_otherwise_is_not_changed():
    before = document("ab")
    after = document("ab", types={"a": "{type: noop, name: Another}"})
    assert kept_nodes(after, DONE, start="f", before=before) == ["a", "b", "c", "d", "e"]


def test_a_node_with_other_edges_into_it_is_changed():
    assert kept_nodes(document("ab", "cb"), DONE, start="f", before=document("ab")) == ["a", "c", "d", "e"]


def test_a_node_that_was_not_there_cannot_be_kept():
    after = document("ga", nodes="abcdefg")
    assert kept_nodes(after, DONE, start="f", before=document()) == ["b", "c", "d", "e"]
