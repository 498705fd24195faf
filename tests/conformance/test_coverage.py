"""The scenarios cover every row of the tables in the document's reference; whoever removes one is told what is missing."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.scenario import SCENARIOS, Scenario

from riven.core.graph import ALWAYS, DONE, FAILURE
from riven.nodes.registry import BUILTIN

REASONS = ["not_chosen", "upstream_skipped", "upstream_failed"]


def end_of(scenario: Scenario, path: str) -> tuple[str, str]:
    """Status, and outcome or reason, that the scenario expects."""
    node = scenario.expect["nodes"][path]
    if isinstance(node, str):
        status, _, word = node.partition(" ")
    else:
        status, word = node["status"], node.get("outcome") or node.get("skipReason") or ""
    return status, word or ("success" if status == "COMPLETED" else "")


def nodes_of(scenario: Scenario) -> Mapping[str, Mapping[str, Any]]:
    """Those of the outermost scope."""
    nodes: Mapping[str, Mapping[str, Any]] = scenario.document.get("nodes", {})
    return nodes


def edges_of(scenario: Scenario) -> Iterator[tuple[str, str, str | None]]:
    for edge in scenario.document.get("edges", []):
        yield edge["from"], edge["to"], _label(edge.get("outcome"))
    for key, node in nodes_of(scenario).items():
        for need in node.get("needs", []):
            if isinstance(need, str):
                yield need, key, None
            else:
                yield need["node"], key, _label(need.get("outcome"))


def _label(outcome: object) -> str | None:
    return str(outcome).lower() if isinstance(outcome, bool) else outcome  # type: ignore[return-value]


def every_node(scenario: Scenario) -> Iterator[Mapping[str, Any]]:
    def inside(nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for node in nodes.values():
            yield node
            yield from inside(node.get("body", {}).get("nodes", {}))

    yield from inside(nodes_of(scenario))


def test_there_are_enough() -> None:
    assert len(SCENARIOS) >= 75


def test_every_edge_outcome_meets_every_end_of_its_source() -> None:
    found = set()
    for scenario in SCENARIOS:
        for source, _, outcome in edges_of(scenario):
            kind = outcome if outcome in {None, FAILURE, DONE, ALWAYS} else "label"
            status, word = end_of(scenario, source)
            if kind == "label" and status == "COMPLETED":
                status = "that label" if word == outcome else "another label"
            if status == "SKIPPED" and word == "upstream_failed":
                status = "skipped by failure"
            found.add((kind, status))
    ends = ["COMPLETED", "FAILED", "SKIPPED", "skipped by failure"]
    wanted = set(itertools.product([None, FAILURE, DONE, ALWAYS], ends))
    wanted |= {("label", end) for end in ["that label", "another label", "FAILED", "SKIPPED"]}
    assert not wanted - found


def test_every_join_runs_and_is_skipped_for_every_reason() -> None:
    found = set()
    for scenario in SCENARIOS:
        targets = {target for _, target, _ in edges_of(scenario)}
        for key in targets:
            join = nodes_of(scenario)[key].get("join", "none_failed")
            status, word = end_of(scenario, key)
            if status in {"COMPLETED", "FAILED"}:
                word = "runs"
            found.add((join if isinstance(join, str) else "atLeast", word))
    wanted = set(itertools.product(["none_failed", "all", "any", "atLeast"], ["runs", *REASONS]))
    assert not {*wanted, ("all_done", "runs")} - found


def test_every_end_of_a_node_and_of_an_execution_is_there() -> None:
    ends = {end_of(scenario, path) for scenario in SCENARIOS for path in scenario.expect["nodes"]}
    assert {status for status, _ in ends} == {"COMPLETED", "FAILED", "SKIPPED", "CANCELED"}
    assert {word for status, word in ends if status == "SKIPPED"} == {*REASONS, "when_false"}
    assert {scenario.expect["status"] for scenario in SCENARIOS} == {"COMPLETED", "FAILED", "CANCELED"}


def test_every_label_of_the_built_in_types_is_there() -> None:
    found = {
        (node["type"], end_of(scenario, key)[1])
        for scenario in SCENARIOS
        for key, node in nodes_of(scenario).items()
        if end_of(scenario, key)[0] == "COMPLETED"
    }
    wanted = {
        "condition": ["true", "false"],
        "switch": ["default", "large"],
        "repeat": ["success", "exhausted"],
        "signal": ["received", "expired"],
        "approval": ["approved", "rejected", "expired"],
    }
    assert not {(type, label) for type, labels in wanted.items() for label in labels} - found


def test_every_built_in_type_is_used() -> None:
    used = {node["type"] for scenario in SCENARIOS for node in every_node(scenario)}
    apart = {"http_request"}  # talks to a server: tests/nodes, tests/test_examples.py
    assert set(BUILTIN) - used == apart


def test_every_class_of_errors_that_a_node_can_have_is_there() -> None:
    scripted = {
        attempt["fail"]
        for scenario in SCENARIOS
        for node in every_node(scenario)
        if node["type"] == "scripted"
        for attempt in node.get("with", {}).get("attempts", [])
        if "fail" in attempt
    }
    assert {
        "HTTP_CLIENT_ERROR", "HTTP_SERVER_ERROR", "NETWORK_ERROR", "TIMEOUT", "EXECUTION_ERROR", "VALIDATION_ERROR",
        "TEMPLATE_ERROR", "SECURITY_ERROR", "CONTROL_FLOW_ERROR",
    } <= scripted  # fmt: skip
