"""Pages that are written by hand leave nothing out."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from sqlalchemy import CheckConstraint, Table

from riven.api.executions.views import WaitingBody
from riven.core.errors import ErrorClass
from riven.core.messages import ExecutionStatus, NodeStatus, SkipReason
from riven.db.tables.catalog import workflow_definitions
from riven.db.tables.executions import workflow_executions
from riven.db.tables.queue import execution_queue
from riven.documents.load import load_document
from riven.documents.schema import document_schema
from riven.nodes.registry import Registry
from riven.views.events import Event

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def explained(name: str) -> set[str]:
    """What the first cells of a page's tables name."""
    cells = re.findall(r"^\| ([^|]+) \|", page(name), re.MULTILINE)
    return {word for cell in cells for word in re.findall(r"[\w.]+", cell)}


@pytest.mark.parametrize("vocabulary", [NodeStatus, ExecutionStatus, ErrorClass], ids=lambda v: v.__name__)
def test_every_status_and_error_class_is_explained(vocabulary: type[NodeStatus]) -> None:
    assert set(vocabulary) - explained("states.md") == set()


@pytest.mark.parametrize("table", [execution_queue, workflow_definitions, workflow_executions], ids=str)
def test_every_status_that_a_row_can_have_is_explained(table: Table) -> None:
    (check,) = [each for each in table.constraints if str(each.name).endswith("_status_check")]
    assert isinstance(check, CheckConstraint)
    statuses = set(re.findall(r"'(\w+)'", str(check.sqltext)))
    assert len(statuses) >= 3
    assert statuses - explained("states.md") == set()


def test_every_reason_for_skipping_is_explained() -> None:
    assert set(SkipReason) - explained("joins.md") == set()


def test_every_field_of_a_document_is_explained() -> None:
    schema = document_schema(Registry())
    parts = [schema, *(schema["$defs"][part] for part in ("NodeFields", "RetryFields", "EdgeFields"))]
    fields = {field for part in parts for field in part["properties"]}
    assert fields - explained("document.md") == set()


def test_every_kind_of_event_is_explained() -> None:
    names = get_args(get_type_hints(Event)["name"])
    assert set(names) - explained("events.md") == set()


def test_every_reason_for_waiting_is_explained() -> None:
    assert set(get_args(get_type_hints(WaitingBody)["kind"])) - explained("executions.md") == set()


def test_the_example_document_is_valid() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```", page("document.md"), re.MULTILINE | re.DOTALL)
    assert load_document(example, registry=Registry()).problems == ()


def test_the_first_page_s_document_is_valid() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert load_document(example, registry=Registry()).problems == ()


def test_every_field_that_a_run_prints_is_explained() -> None:
    command = [sys.executable, "-m", "riven.main.command", "run", "--json", "examples/hello.yaml"]
    ran = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    fields = {*ran, *ran["nodes"][0]}
    assert fields - explained("command-line.md") == set()
