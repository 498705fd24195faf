"""An execution on a server, seen at a terminal: as a run in memory is seen, and decided there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal
from tests.main.developing import Dev, until

pytestmark = pytest.mark.slow

ASKS = """
name: asks
nodes:
  first: {type: python, with: {function: riven.sleep, args: {seconds: 0.2}}}
  ask:
    type: approval
    needs: [first]
    with:
      title: Refund it?
      form: {type: object, required: [sum], properties: {sum: {type: integer}}}
  paid: {type: signal, needs: [{node: ask, outcome: approved}], with: {name: paid}}
  each:
    type: for_each
    needs: [paid]
    with: {items: "{{ [1, 2, 3] }}"}
    body:
      nodes:
        twice: {type: set, with: {value: "{{ item * 2 }}"}}
      output: "{{ steps.twice.output }}"
output: "{{ steps.?each.?output.orValue(null) }}"
"""


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with Dev(tmp_path_factory.mktemp("watching") / "riven") as running:
        running.ready().publish(ASKS)
        yield running


def start(dev: Dev, tmp_path: Path, *arguments: str) -> Terminal:
    return Terminal(
        "start", "asks", "--wait", "--data-dir", str(dev.directory), *arguments, directory=tmp_path
    )


def test_what_is_asked_is_answered_at_the_terminal(dev: Dev, tmp_path: Path) -> None:
    with start(dev, tmp_path) as terminal:
        terminal.wait_for("first", "ask: Refund it?", "approved or rejected:")
        terminal.type('a\nfine\n{"sum": "much"}\n')
        terminal.wait_for("sum", "integer")
        terminal.wait_for("approved or rejected:")
        terminal.type('a\nfine\n{"sum": 5}\n')
        terminal.wait_for("waits for the signal 'paid'", "payload as JSON")
        terminal.type("1\n")
        assert terminal.end() == 0
        assert terminal.restored()
        end = terminal.text[terminal.text.rindex("✓ first") :]
        for seen in ("✓ ask", "approved", "✓ paid", "✓ each", "3 items", "✓ asks completed in"):
            assert seen in end
        assert "[\r\n  2,\r\n  4,\r\n  6\r\n]" in end


def test_an_interrupt_ends_the_watching_and_nothing_else(dev: Dev, tmp_path: Path) -> None:
    with start(dev, tmp_path) as terminal:
        terminal.wait_for("approved or rejected:")
        terminal.interrupt()
        assert terminal.end() == 1
        assert terminal.restored()
        assert "the execution goes on; see it again with 'riven executions watch" in terminal.text
    [[id]] = dev.rows("SELECT id::text FROM workflow_executions WHERE status IN ('RUNNING', 'WAITING')")
    with Terminal("executions", "watch", id, "--data-dir", str(dev.directory), directory=tmp_path) as again:
        again.wait_for("✓ first", "approved or rejected:")
        assert dev.ask("POST", f"/api/v1/workflow/executions/{id}/cancel").status_code == 202
        assert again.end() == 1
        assert "asks canceled in" in again.text


def test_what_stands_in_line_says_why(dev: Dev, tmp_path: Path) -> None:
    address = f"/api/v1/workspaces/{dev.state['workspaceId']}"
    assert dev.ask("PATCH", address, {"limits": {"running": 0}}).status_code == 200
    with start(dev, tmp_path) as terminal:
        terminal.wait_for("waits for a free slot: 0 of 0 in use, position 1")
        assert dev.ask("PATCH", address, {"limits": {"running": None}}).status_code == 200
        terminal.wait_for("approved or rejected:")
        terminal.type("rejected\n\n\n")
        assert terminal.end() == 0


def test_it_is_seen_through_a_restart_of_the_api(dev: Dev, tmp_path: Path) -> None:
    with start(dev, tmp_path) as terminal:
        terminal.wait_for("approved or rejected:")
        killed = dev.kill("api")
        until(lambda: dev.pids["api"] != killed, "the API is there again")
        terminal.type("rejected\n\n\n")
        assert terminal.end() == 0
        assert "✓ ask" in terminal.text
