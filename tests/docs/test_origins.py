"""docs/reference/origins.md: what is named in the documents is linked to modules and tests, and those are there."""

import re
from pathlib import Path

import pytest

from riven.telemetry.names import COUNTED, EVENTS, READ

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "origins.md").read_text(encoding="utf-8")


def section(title: str) -> list[list[str]]:
    """The cells of every row of the table below a heading."""
    (text,) = re.findall(rf"^##+ {title}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def linked(text: str) -> list[str]:
    return re.findall(r"\]\(\.\./\.\./((?:src|tests)/[^)#]+)", text)


def test_every_system_is_linked_to_its_module_and_its_tests() -> None:
    systems = section("The systems")
    assert len(systems) == 16
    for name, here, tests, *_ in systems:
        assert any(path.startswith("src/") for path in linked(here)), name
        assert any(path.startswith("tests/") for path in linked(tests)), name


def test_every_entity_is_linked_to_its_module_and_its_tests() -> None:
    entities = section("Entities and messages")
    assert len(entities) == 10
    for name, here, tests in entities:
        assert any(path.startswith("src/") for path in linked(here)), name
        assert any(path.startswith("tests/") for path in linked(tests)), name


@pytest.mark.parametrize("title", ["Ready queue", "Graph coordination", "Queue processor", "Log events"])
def test_every_scenario_and_event_names_its_tests(title: str) -> None:
    rows = section(title)
    assert len(rows) >= 7
    for row in rows:
        assert "`test_" in row[-1] or linked(row[-1]), row


def test_every_event_and_metric_that_is_named_exists() -> None:
    events = {name for row in section("Log events") for name in re.findall(r"`(\w+)`", row[0])}
    assert len(events) == 14
    assert events <= {each.name for each in EVENTS}
    metrics = {name for row in section("Metrics") for name in re.findall(r"`(riven_\w+)`", row[1])}
    assert len(metrics) == 6
    assert metrics <= {each.name for each in (*COUNTED, *READ)}


def test_every_link_exists() -> None:
    assert [path for path in linked(PAGE) if not (ROOT / path).exists()] == []


def test_an_event_is_asserted_by_the_test_that_is_named_for_it() -> None:
    functions = {
        name: body
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for name, body in re.findall(
            r"^(?:async )?def (test_\w+)(.*?)(?=^(?:async )?def |^@|\Z)",
            path.read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        )
    }
    for events, _, tests in section("Log events"):
        bodies = "".join(functions[name] for name in re.findall(r"`(test_\w+)`", tests))
        for event in re.findall(r"`(\w+)`", events):
            assert event in bodies, f"{event} is not in {tests}"
