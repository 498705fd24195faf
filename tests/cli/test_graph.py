from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.cli.terminal import Call

DOCUMENT = """\
name: order
nodes:
  large: {type: condition, with: {if: "input.amount > 100.0"}}
  ask: {type: approval, name: 'Pay "now"?', needs: [{node: large, outcome: "true"}]}
  each:
    type: for_each
    needs: [{node: ask, outcome: approved}]
    with: {items: [1]}
    body: {nodes: {send: {type: noop}}}
  tell: {type: log, needs: [each, {node: large, outcome: "false"}], join: any, with: {message: x}}
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path) -> Path:
    (tmp_path / "order.yaml").write_text(DOCUMENT)
    (tmp_path / "bad.yaml").write_text("name: bad\nnodes:\n  a: {type: noop, needs: [b]}\n")
    return tmp_path


def test_mermaid_is_the_default(call: Call) -> None:
    done = call("graph", "order.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "flowchart TD\n"
        '  large{"large<br/>condition"}\n'
        '  ask(["Pay #34;now#34;?<br/>ask: approval"])\n'
        '  subgraph each["each: for_each"]\n'
        '    each_send["send<br/>noop"]\n'
        "  end\n"
        '  tell["tell<br/>log<br/>join any"]\n'
        '  large -->|"true"| ask\n'
        '  ask -->|"approved"| each\n'
        "  each --> tell\n"
        '  large -->|"false"| tell\n'
    )


def test_dot_and_svg(call: Call) -> None:
    dot = call("graph", "order.yaml", "--format", "dot")
    assert dot.returncode == 0
    assert dot.stdout.startswith('digraph "order" {')
    svg = call("graph", "order.yaml", "--format", "svg")
    assert svg.returncode == 0
    root = ET.fromstring(svg.stdout)
    assert "approved" in {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}


def test_a_document_from_standard_input(call: Call) -> None:
    assert call("graph", "-", stdin=DOCUMENT).stdout.startswith("flowchart TD\n")


def test_an_invalid_document_is_not_drawn(call: Call) -> None:
    done = call("graph", "bad.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad.yaml:3:" in done.stderr


def test_an_unknown_format_is_one_line(call: Call) -> None:
    done = call("graph", "order.yaml", "--format", "png")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "mermaid" in done.stderr
