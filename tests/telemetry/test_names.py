"""Everything that the code logs is named, with its level and its fields, and nothing is named that nobody logs."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from riven.nodes.builtin.log import LOGGER
from riven.telemetry import metrics, names
from riven.telemetry.logs import WORKFLOW_LOG

SOURCE = Path(__file__).parents[2] / "src" / "riven"
LEVELS = {"info": "INFO", "warning": "WARNING", "error": "ERROR", "exception": "ERROR"}
BY_HANDLER = {"workflow_log", "log"}
"""Events that the handler makes of what others write."""
CHOSEN = {"execution_finished", "control_unread"}
"""Events whose level is chosen as they are logged."""


def logged() -> Iterator[tuple[str, str | None, Path]]:
    """Name and level of every call of a module's `_log`."""
    for path in SOURCE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "_log"):
                continue
            if call.func.attr not in {*LEVELS, "log"}:
                continue
            first = call.args[1 if call.func.attr == "log" else 0]
            constants = [node.value for node in ast.walk(first) if isinstance(node, ast.Constant)]
            for name in constants or names_assigned(path, first):
                yield name, LEVELS.get(call.func.attr), path


def names_assigned(path: Path, first: ast.expr) -> list[str]:
    """What a variable that holds the name may be."""
    assert isinstance(first, ast.Name), f"{path}: an event has a constant name"
    return [
        node.value.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and any(isinstance(target, ast.Name) and target.id == first.id for target in node.targets)
    ]


def test_every_event_that_is_logged_is_named_with_its_level() -> None:
    named = {event.name: event for event in names.EVENTS}
    found: dict[str, set[str | None]] = defaultdict(set)
    unknown = []
    for name, level, path in logged():
        found[name].add(level)
        if name not in named:
            unknown.append(f"{path.relative_to(SOURCE)} logs {name}")
    assert unknown == [], "telemetry/names.py does not know them"
    assert sorted(set(named) - set(found) - BY_HANDLER) == []
    wrong = {
        name: levels for name, levels in found.items() if name not in CHOSEN and levels != {named[name].level}
    }
    assert wrong == {}


def test_the_events_of_the_original_keep_their_names_and_fields() -> None:
    events = {event.name: (event.level, set(event.fields)) for event in names.EVENTS}
    for name, level, fields in [
        ("workspace_at_capacity", "INFO", {"workspaceId", "active", "limit"}),
        ("dispatching", "INFO", {"queueId", "workflowDefinitionId"}),
        ("dispatched", "INFO", {"executionId", "queueId"}),
        ("engine_start_failed", "ERROR", {"queueId", "error"}),
        ("queue_item_error", "ERROR", {"queueId", "error"}),
        ("queue_item_failed", "ERROR", {"queueId", "error"}),
        ("workspace_not_found", "WARNING", {"workspaceId", "queueId"}),
        ("execution_not_found_for_retry", "WARNING", {"executionId", "queueId"}),
        ("execution_missing_at_completion", "WARNING", {"executionId"}),
        ("queue_item_missing_at_completion", "WARNING", {"executionId"}),
        ("nodes_ready", "INFO", {"executionId", "count"}),
    ]:
        assert events[name][0] == level
        assert fields <= events[name][1]
    assert {"execution_started", "node_failed", "execution_finished"} <= set(events)


def test_a_name_is_given_once() -> None:
    for named in (names.EVENTS, (*names.COUNTED, *names.READ)):
        listed = [each.name for each in named]
        assert len(listed) == len(set(listed))


def test_every_metric_that_is_counted_has_its_instrument() -> None:
    assert [each.metric for each in metrics.INSTRUMENTS] == list(names.COUNTED)


def test_metrics_are_named_as_prometheus_asks() -> None:
    for each in (*names.COUNTED, *names.READ):
        assert each.name.startswith("riven_")
        assert each.name.endswith("_total") == (each.kind == "counter")
        assert bool(each.buckets) == (each.kind == "histogram")
        assert "process" not in each.labels


def test_log_nodes_write_to_the_logger_that_is_known_for_it() -> None:
    assert LOGGER.name == WORKFLOW_LOG
