"""Whether a finished run, as `riven run --json` tells it, is what a scenario expects.

expect:
  status: COMPLETED
  error: {node, type, message, messageContains: [...]}      # of a FAILED run; what is given is compared
  output: ...                                               # compared if it is given
  nodes:                                                    # every path, exactly
    a: COMPLETED red                                        # status and outcome; without one, `success`
    b: SKIPPED not_chosen                                   # status and reason
    c: {status, outcome, skipReason, attempt, output, attempts: [error type or null], waits: [ms]}
  finishedBeforeStarted, finishedBeforeFinished, startedBeforeFinished: [[one, other], ...]
  took: {path: ms}                                          # at least
  apart: [[one, other, ms]]                                 # from the end of one to the start of the other, at least
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.conformance.scenario import TIMES

FIELDS = {"status", "error", "output", "nodes", "nowhere", *TIMES}
NODE_FIELDS = {"status", "outcome", "skipReason", "attempt", "output", "attempts", "waits"}


def check(run: Mapping[str, Any], expect: Mapping[str, Any]) -> None:
    assert not set(expect) - FIELDS, set(expect) - FIELDS
    wanted = {path: _wanted(node) for path, node in expect["nodes"].items()}
    nodes = {node["path"]: node for node in run["nodes"]}
    assert len(nodes) == len(run["nodes"]), "a path stands twice in the list of nodes"
    told = {path: _told(node, wanted.get(path, {})) for path, node in nodes.items()}
    assert (run["status"], run["error"] and run["error"]["message"], told) == (
        expect["status"],
        run["error"] and run["error"]["message"],
        wanted,
    )
    _check_error(run, expect)
    if "output" in expect:
        assert run["output"] == expect["output"]
        assert _types(run["output"]) == _types(expect["output"])
    _check_order(nodes, expect)
    everything = json.dumps(run)
    for text in expect.get("nowhere", []):
        assert text not in everything


def _wanted(node: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(node, str):
        status, _, word = node.partition(" ")
        node = {"status": status} | (
            {"skipReason" if status == "SKIPPED" else "outcome": word} if word else {}
        )
    wanted = dict(node)
    assert not set(wanted) - NODE_FIELDS, wanted
    if wanted["status"] == "COMPLETED":
        wanted.setdefault("outcome", "success")
    wanted.setdefault("skipReason", None)
    assert (wanted["status"] == "SKIPPED") == (wanted["skipReason"] is not None), (
        "a skipped node has a reason"
    )
    return wanted


def _told(node: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Of what the run tells of a node, the fields that the scenario speaks of."""
    told = {name: node[name] for name in ["status", "skipReason"]}
    told |= {name: node[name] for name in ["outcome", "attempt", "output"] if name in wanted}
    if node["status"] == "COMPLETED":
        told["outcome"] = node["outcome"]
    if "attempts" in wanted:
        told["attempts"] = [attempt["error"] and attempt["error"]["type"] for attempt in node["attempts"]]
    if "waits" in wanted:
        told["waits"] = [
            _milliseconds(_time(attempt["nextRetryAt"]) - _time(attempt["finishedAt"]))
            for attempt in node["attempts"]
            if attempt["nextRetryAt"] is not None
        ]
    return told


def _check_error(run: Mapping[str, Any], expect: Mapping[str, Any]) -> None:
    assert (run["error"] is not None) == (expect["status"] == "FAILED"), run["error"]
    assert ("error" in expect) == (expect["status"] == "FAILED"), "a failed run says why"
    wanted = dict(expect.get("error", {}))
    for part in wanted.pop("messageContains", []):
        assert part in run["error"]["message"]
    assert {name: run["error"][name] for name in wanted} == wanted


def _check_order(nodes: Mapping[str, Mapping[str, Any]], expect: Mapping[str, Any]) -> None:
    started = {path: _time(node["startedAt"]) for path, node in nodes.items() if node["startedAt"]}
    finished = {path: _time(node["finishedAt"]) for path, node in nodes.items() if node["finishedAt"]}
    for one, other in expect.get("finishedBeforeStarted", []):
        assert finished[one] <= started[other], f"{other} started before {one} had finished"
    for one, other in expect.get("finishedBeforeFinished", []):
        assert finished[one] < finished[other], f"{other} finished before {one}"
    for one, other in expect.get("startedBeforeFinished", []):
        assert started[one] < finished[other], f"{one} started only after {other} had finished"
    for path, least in expect.get("took", {}).items():
        assert _milliseconds(finished[path] - started[path]) >= least, path
    for one, other, least in expect.get("apart", []):
        assert _milliseconds(started[other] - finished[one]) >= least, (one, other)
    for path, node in nodes.items():
        assert path not in started or path not in finished or started[path] <= finished[path]
        for before, after in zip(node["attempts"], node["attempts"][1:], strict=False):
            assert _time(before["nextRetryAt"]) <= _time(after["startedAt"]), (
                f"{path} was tried again too soon"
            )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _milliseconds(span: timedelta) -> int:
    return round(span / timedelta(milliseconds=1))


def _types(value: object) -> object:
    """1 == 1.0 == True in Python, but not in JSON."""
    match value:
        case dict():
            return {key: _types(inner) for key, inner in value.items()}
        case list():
            return [_types(inner) for inner in value]
        case _:
            return type(value)
