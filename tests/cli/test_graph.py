from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.cli.terminal import riven

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


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "order.yaml").write_text(DOCUMENT)
    (tmp_path / "bad.yaml").write_text("name: bad\nnodes:\n  a: {type: noop, needs: [b]}\n")
    return tmp_path


def test_mermaid_is_the_default(work: Path) -> None:
    done = riven("graph", "order.yaml", directory=work)
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


def test_dot_and_svg(work: Path) -> None:
    dot = riven("graph", "order.yaml", "--format", "dot", directory=work)
    assert dot.returncode == 0
    assert dot.stdout.startswith('digraph "order" {')
    svg = riven("graph", "order.yaml", "--format", "svg", directory=work)
    assert svg.returncode == 0
    root = ET.fromstring(svg.stdout)
    assert "approved" in {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}


def test_a_document_from_standard_input() -> None:
    assert riven("graph", "-", stdin=DOCUMENT).stdout.startswith("flowchart TD\n")


def test_an_invalid_document_is_not_drawn(work: Path) -> None:
    done = riven("graph", "bad.yaml", directory=work)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad.yaml:3:" in done.stderr


def test_an_unknown_format_is_one_line(work: Path) -> None:
    done = riven("graph", "order.yaml", "--format", "png", directory=work)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "mermaid" in done.stderr
