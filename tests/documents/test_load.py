import gc
import json
import re
from pathlib import Path

import pytest
from tests.documents.loading import load, nodes, shown

from riven.core.errors import Severity
from riven.core.graph import OnFailure
from riven.core.validation import MAX_NODES
from riven.documents.codes import MEANINGS
from riven.documents.findings import MAX_PROBLEMS

REFUND = """\
name: refund
description: Refund an order; a person decides above 100
input:
  type: object
  required: [orderId, amount]
  properties: {orderId: {type: string}, amount: {type: number}}
vars: {shop: "https://shop.example"}
timeout: 7d
onFailure: fail_fast
nodes:
  order:
    type: http_request
    with: {url: "{{ vars.shop }}/orders/{{ input.orderId }}"}
    retry: {maxAttempts: 5, initialInterval: 1s, multiplier: 2, maxInterval: 30s, jitter: 0.2}
    timeout: 20s
  large:
    type: condition
    with: {if: "input.amount > 100.0"}
  ask:
    type: approval
    with: {title: "Refund {{ input.amount }}?", timeout: 3d}
  pay:
    type: http_request
    with: {method: POST, url: "{{ vars.shop }}/refunds", json: {order: "{{ steps.order.output.body.id }}"}}
  tell:
    type: log
    with: {message: "refund of {{ input.orderId }}: {{ steps.pay.status }}"}
edges:
  - {from: order, to: large}
  - {from: large, to: ask, outcome: "true"}
  - {from: large, to: pay, outcome: "false"}
  - {from: ask, to: pay, outcome: approved}
  - {from: pay, to: tell, outcome: always}
output: {refund: "{{ steps.?pay.?output.?body.?id.orValue(null) }}"}
"""


def test_the_document_of_the_reference_has_no_problems() -> None:
    loaded = load(REFUND)
    assert loaded.problems == ()
    assert loaded.valid
    assert loaded.document is not None
    assert list(loaded.document.nodes) == ["order", "large", "ask", "pay", "tell"]
    assert loaded.graph is not None
    assert loaded.graph.timeout == 7 * 86_400_000
    assert loaded.graph.on_failure is OnFailure.FAIL_FAST
    assert loaded.graph.has_output


def test_yaml_json_and_needs_give_the_same_document() -> None:
    as_yaml = "name: x\nnodes:\n  a: {type: condition, with: {if: 'true'}}\n  b: {type: noop, needs: [{node: a, outcome: true}]}"
    as_json = json.dumps(
        {
            "name": "x",
            "nodes": {"a": {"type": "condition", "with": {"if": "true"}}, "b": {"type": "noop"}},
            "edges": [{"from": "a", "to": "b", "outcome": "true"}],
        }
    )
    first, second = load(as_yaml), load(as_json)
    assert first.document == second.document is not None
    assert first.graph == second.graph


@pytest.mark.parametrize(
    "text", ["name: empty", "name: empty\nnodes:", "name: empty\nnodes: {}\nedges: []\nvars:\noutput: null"]
)
def test_a_workflow_without_nodes_is_one(text: str) -> None:
    loaded = load(text)
    assert loaded.problems == ()
    assert loaded.graph is not None
    assert (loaded.graph.nodes, loaded.graph.has_output) == ((), False)


BROKEN = [
    # fields
    ("nodes: {}", ["1 name missing_field"]),
    ("name: My Flow", ["1 name invalid_name"]),
    ("name: x\nnodez: {}", ["2 nodez unknown_field"]),
    ("name: x\nnodes: []", ["2 nodes wrong_type"]),
    ("name: x\nedges: {}", ["2 edges wrong_type"]),
    ("name: x\nvars: 3\noutput: '{{ vars.a }}'", ["2 vars wrong_type"]),
    ("name: x\nvars: {a: ['{{ input.b }}']}", ["2 vars.a[0] template_not_allowed"]),
    ("name: x\ntimeout: 0s\nonFailure: stop", ["2 timeout invalid_value", "3 onFailure invalid_value"]),
    ("name: x\ndescription: [1]\ninput: []", ["2 description wrong_type", "3 input wrong_type"]),
    (nodes("  a:"), ["3 nodes.a wrong_type"]),
    (nodes("  a: {with: {}}"), ["3 nodes.a.type missing_field"]),
    (nodes("  a: {typ: noop}"), ["3 nodes.a.typ unknown_field"]),
    (nodes("  a: {type: 3}"), ["3 nodes.a.type wrong_type"]),
    (nodes("  a: {type: noop, with: [1]}"), ["3 nodes.a.with wrong_type"]),
    (nodes("  a: {type: noop, retry: 3}"), ["3 nodes.a.retry wrong_type"]),
    (
        nodes("  a:\n    type: http_request\n    with: {url: http://x}\n    retry:\n      maxAttempts: 0\n      delay: 1s\n"),
        ["7 nodes.a.retry.maxAttempts invalid_value", "8 nodes.a.retry.delay unknown_field"],
    ),
    (nodes("  a: {type: noop, join: most}"), ["3 nodes.a.join invalid_value"]),
    (nodes("  a: {type: noop, timeout: -5s}"), ["3 nodes.a.timeout invalid_value"]),
    (nodes("  a: {type: noop, timeout: '{{ input.t }}'}"), ["3 nodes.a.timeout template_not_allowed"]),
    (nodes("  a:\n    type: http_request\n    with:\n      method: GET"), ["3 nodes.a.with.url missing_field"]),
    (nodes("  a: {type: noop, continueOnError: 'yes'}"), ["3 nodes.a.continueOnError wrong_type"]),
    (nodes('  a: {type: noop, name: "a\\x07b"}'), ["3 nodes.a.name invalid_value"]),
    # keys
    (nodes("  a-b: {type: noop}"), ["3 nodes.a-b invalid_name"]),
    (nodes("  1st: {type: noop}"), ["3 nodes.1st invalid_name"]),
    (nodes("  in: {type: noop}\n  loop: {type: noop}"), ["3 nodes.in invalid_name", "4 nodes.loop invalid_name"]),
    (nodes("  true: {type: noop}"), ["3 nodes.true invalid_name"]),
    (nodes(f"  {'k' * 129}: {{type: noop}}"), [f"3 nodes[\"{'k' * 127}…\"] invalid_name"]),
    (nodes("  a.b: {type: noop}\nedges: [{from: a.b, to: a.b}]"), ['3 nodes["a.b"] invalid_name']),
    (nodes("  a: {type: noop}\n  a: {type: noop}"), ["4 nodes.a duplicate_key"]),
    # types and their configurations
    (nodes("  a: {type: nope}"), ["3 nodes.a.type unknown_type"]),
    (nodes("  a: {type: nope, with: {x: '{{ 1 + }}'}}"), ["3 nodes.a.type unknown_type", "3 nodes.a.with.x expression_syntax"]),
    (nodes("  a: {type: wait}"), ["3 nodes.a.with invalid_value"]),
    (nodes("  a: {type: python, with: {function: charg}}"), ["3 nodes.a.with.function unknown_function"]),
    (nodes("  a: {type: noop, body: {nodes: {}}}"), ["3 nodes.a.body body_not_allowed"]),
    (
        nodes("  a: {type: wait, with: {for: 1s}, timeout: 2s, retry: {maxAttempts: 2}}"),
        ["3 nodes.a.timeout setting_not_allowed", "3 nodes.a.retry setting_not_allowed"],
    ),
    (
        nodes("  a: {type: signal, with: {name: go}, timeout: 2s}\n  b: {type: approval, timeout: 2s}"),
        ["3 nodes.a.timeout setting_not_allowed", "4 nodes.b.timeout setting_not_allowed"],
    ),
    (
        nodes("  a: {type: repeat, with: {until: 'true'}, retry: {}, body: {nodes: {b: {type: noop}}}}"),
        ["3 nodes.a.retry setting_not_allowed"],
    ),
    (nodes("  a: {type: noop, retry: {maxAttempts: 2}}"), ["3 nodes.a.retry unused_setting?"]),
    # edges
    (
        nodes("  a: {type: noop}\nedges:\n  - a\n  - {from: a}\n  - {from: a, to: b, when: x}"),
        [
            "5 edges[0] wrong_type",
            "6 edges[1].to missing_field",
            "7 edges[2].to unknown_node",
            "7 edges[2].when unknown_field",
        ],
    ),
    (nodes("  a: {type: noop, needs: b}\n  b: {type: noop}"), ["3 nodes.a.needs wrong_type"]),
    (nodes("  a: {type: noop, needs: [bb]}\n  b: {type: noop}"), ["3 nodes.a.needs[0] unknown_node"]),
    (
        nodes("  a:\n    type: noop\n    needs:\n      - node: bb\n        outcome: no\n  b: {type: noop}"),
        ["6 nodes.a.needs[0].node unknown_node"],
    ),
    (nodes("  a: {type: noop}\nedges:\n  - {from: a, to: a}"), ["5 edges[0] self_edge"]),
    (nodes("  a: {type: noop, needs: [a]}"), ["3 nodes.a.needs[0] self_edge"]),
    (
        nodes("  a: {type: noop}\n  b: {type: noop, needs: [a]}\nedges:\n  - {from: a, to: b}"),
        ["6 edges[0] duplicate_edge"],
    ),
    (
        nodes("  a: {type: noop, needs: [c]}\n  b: {type: noop, needs: [a]}\n  c: {type: noop, needs: [b]}"),
        ["3 nodes.a.needs[0] cycle"],
    ),
    (
        nodes("  a: {type: noop}\n  b: {type: noop}\nedges:\n  - {from: a, to: b}\n  - {from: b, to: a}"),
        ["6 edges[0] cycle"],
    ),
    (nodes("  a: {type: noop}\n  b: {type: noop, needs: [{node: a, outcome: yes}]}"), ["4 nodes.b.needs[0].outcome unknown_outcome"]),
    (nodes("  a: {type: noop}\n  b: {type: noop, needs: [{node: a, outcome: 1}]}"), ["4 nodes.b.needs[0].outcome invalid_value"]),
    (nodes("  a: {type: condition, with: {if: 'true'}}"), ["3 nodes.a unused_condition?"]),
    # joins
    (nodes("  a: {type: noop, join: any}"), ["3 nodes.a.join unused_join?"]),
    (nodes("  a: {type: noop}\n  b: {type: noop, needs: [a], join: {atLeast: 2}}"), ["4 nodes.b.join impossible_join"]),
    (nodes("  a: {type: noop}\n  b: {type: noop, needs: [a], join: {atLeast: 0}}"), ["4 nodes.b.join impossible_join"]),
    (
        nodes(
            "  a: {type: condition, with: {if: 'true'}}\n"
            "  b: {type: noop, needs: [{node: a, outcome: true}, {node: a, outcome: false}], join: all}"
        ),
        ["4 nodes.b.join impossible_join"],
    ),
    (nodes("  a: {type: nope}\n  b: {type: noop, needs: [{node: a, outcome: x}, {node: a, outcome: y}], join: all}"), ["3 nodes.a.type unknown_type"]),
    # bodies
    (nodes("  a: {type: for_each, with: {items: []}}"), ["3 nodes.a.body empty_body"]),
    (nodes("  a: {type: for_each, with: {items: []}, body: {nodes: {}}}"), ["3 nodes.a.body empty_body"]),
    (nodes("  a: {type: for_each, with: {items: []}, body: 3}"), ["3 nodes.a.body wrong_type"]),
    (
        nodes("  a:\n    type: for_each\n    with: {items: []}\n    body:\n      nodes:\n        b: {type: noop, needs: [c]}\n      edge: []"),
        ["8 nodes.a.body.nodes.b.needs[0] unknown_node", "9 nodes.a.body.edge unknown_field"],
    ),
    (
        nodes(
            "  a:\n    type: repeat\n    with: {until: 'true'}\n    body:\n      nodes: {b: {type: noop}, c: {type: noop}}\n"
            "      edges:\n        - {from: b, to: c}\n        - {from: c, to: b}"
        ),
        ["9 nodes.a.body.edges[0] cycle"],
    ),
    # switches
    (
        nodes("  a: {type: switch, with: {cases: [{name: done, if: 'true'}]}}"),
        ["3 nodes.a.with.cases[0].name reserved_label"],
    ),
    (
        nodes(
            "  a:\n    type: switch\n    with:\n      cases:\n        - {name: big, if: 'true'}\n        - {name: big, if: 'false'}\n"
            "  b: {type: noop, needs: [{node: a, outcome: big}]}"
        ),
        ["8 nodes.a.with.cases[1].name duplicate_label"],
    ),
    (
        nodes(
            "  a: {type: switch, with: {cases: [{name: big, if: 'true'}, {name: small, if: 'true'}]}}\n"
            "  b: {type: noop, needs: [{node: a, outcome: big}]}"
        ),
        ["3 nodes.a.with.cases[1] unused_case?"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BROKEN)
def test_each_mistake_is_told_at_its_place_and_nothing_else(text: str, expected: list[str]) -> None:
    loaded = load(text, functions=["charge"])
    assert shown(loaded) == expected
    assert loaded.valid is all(line.endswith("?") for line in expected)
    assert (loaded.document is None) is (not loaded.valid)
    assert (loaded.graph is None) is (not loaded.valid)


def test_all_mistakes_of_a_document_are_told_at_once_in_the_order_of_the_text() -> None:
    parts = [
        text.removeprefix("name: x\nnodes:\n")
        for text, _ in BROKEN
        if text.startswith("name: x\nnodes:\n  a")
    ]
    plain = [part for part in parts if "edges:" not in part and "\n  b" not in part and "a.b" not in part]
    renamed = [part.replace("  a:", f"  a{number}:", 1) for number, part in enumerate(plain)]
    loaded = load("name: x\nnodes:\n" + "\n".join(renamed), functions=[])
    assert len({problem.path.split(".")[1].split("[")[0] for problem in loaded.problems}) >= len(plain) - 2
    positions = [(problem.line, problem.column) for problem in loaded.problems]
    assert positions == sorted(positions)


def test_every_problem_has_a_place_a_documented_code_and_words() -> None:
    for text, _ in BROKEN:
        for problem in load(text, functions=["charge"]).problems:
            assert problem.line is not None
            assert problem.column is not None
            assert problem.code in MEANINGS or problem.code.startswith(("expression_", "placeholder_"))
            assert 10 < len(problem.message) < 400
            assert "Input should" not in problem.message
            assert "pydantic" not in problem.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (nodes("  a: {type: http_reqest}"), "did you mean 'http_request'?"),
        (nodes("  a: {type: sleep}"), "did you mean 'wait'?"),
        (nodes("  a: {type: noop, dependsOn: [b]}"), "did you mean 'needs'?"),
        (nodes("  a: {type: noop, max_attempts: 1}"), "there is no field `max_attempts` here"),
        (nodes("  a: {type: noop, continue_on_error: true}"), "did you mean 'continueOnError'?"),
        (nodes("  order: {type: noop}\n  b: {type: noop, needs: [ordr]}"), "did you mean 'order'?"),
        (nodes("  a: {type: python, with: {function: charg}}"), "did you mean 'charge'?"),
        (nodes("  a: {type: fail}\n  b: {type: noop, needs: [{node: a, outcome: sucess}]}"), "did you mean 'success'?"),
        (nodes("  a: {type: log, with: {message: m, level: warn}}"), "did you mean 'warning'?"),
        ("name: x\nvars: {shop: 1}\noutput: '{{ vars.shp }}'", "did you mean 'shop'?"),
        (nodes("  order: {type: noop}\noutput: '{{ steps.ordr.status }}'"), "did you mean 'order'?"),
    ],
)  # fmt: skip
def test_the_nearest_name_is_suggested(text: str, words: str) -> None:
    [problem] = load(text, functions=["charge"]).problems
    assert words in problem.message


def test_labels_of_a_condition_may_be_written_as_booleans() -> None:
    loaded = load(
        nodes(
            "  c: {type: condition, with: {if: true}}\n"
            "  s: {type: switch, with: {cases: [{name: true, if: 'true'}]}, needs: [{node: c, outcome: false}]}\n"
            "  e: {type: noop}\n"
            "edges: [{from: s, to: e, outcome: true}]"
        )
    )
    assert loaded.problems == ()
    assert loaded.graph is not None
    assert [edge.outcome for edge in loaded.graph.edges] == ["false", "true"]
    assert loaded.graph.nodes[1].labels == ("true", "default")


def body(levels: int) -> str:
    inner = '{"leaf": {"type": "noop"}}'
    for _ in range(levels):
        inner = '{"each": {"type": "for_each", "with": {"items": [1]}, "body": {"nodes": ' + inner + "}}}"
    return '{"name": "x", "nodes": ' + inner + "}"


def test_bodies_go_eight_levels_deep() -> None:
    assert load(body(8)).problems == ()
    [problem] = load(body(9)).problems
    assert (problem.code, problem.path) == ("too_many_levels", ".".join(["nodes.each.body"] * 9))
    assert {problem.code for problem in load(body(30)).problems} == {"too_many_levels"}
    assert [problem.code for problem in load(body(200)).problems] == ["too_deep"]


def test_ten_thousand_nodes_are_the_limit_bodies_included() -> None:
    many = "\n".join(f"  n{number}: {{type: noop}}" for number in range(MAX_NODES))
    assert load(nodes(many)).valid
    [problem] = load(nodes(many + "\n  more: {type: noop}")).problems
    assert (problem.code, problem.line) == ("too_many_nodes", 2)
    half = "\n".join(f"        n{number}: {{type: noop}}" for number in range(5_001))
    twice = "".join(
        f"  {key}:\n    type: for_each\n    with: {{items: [1]}}\n    body:\n      nodes:\n{half}\n"
        for key in "ab"
    )
    assert [problem.code for problem in load(nodes(twice)).problems] == ["too_many_nodes"]


def test_aliases_do_not_smuggle_more_nodes_in() -> None:
    half = "\n".join(f"        n{number}: {{type: noop}}" for number in range(4_000))
    first = f"  a: &loop\n    type: for_each\n    with: {{items: [1]}}\n    body:\n      nodes:\n{half}\n"
    assert load(nodes(first + "  b: *loop\n")).valid
    assert [problem.code for problem in load(nodes(first + "  b: *loop\n  c: *loop\n")).problems] == [
        "too_many_nodes"
    ]


def test_more_problems_than_anybody_reads_are_counted() -> None:
    loaded = load(nodes("\n".join(f"  n{number}: {{type: nope}}" for number in range(3_000))))
    assert len(loaded.problems) == MAX_PROBLEMS + 1
    assert [problem.line for problem in loaded.problems[:3]] == [3, 4, 5]
    last = loaded.problems[-1]
    assert (last.code, last.severity) == ("too_many_problems", Severity.ERROR)
    assert "2,000 more" in last.message


def test_large_documents_are_loaded_without_stopping_the_collector_for_good() -> None:
    assert gc.isenabled()
    load(nodes("\n".join(f"  n{number}: {{type: noop}}" for number in range(5_000))))
    assert gc.isenabled()


@pytest.mark.parametrize("path", sorted(Path("examples").rglob("*.yaml")), ids=str)
def test_examples_have_no_problems(path: Path) -> None:
    def resolve(name: str) -> str | None:
        beside = path.with_name(f"{name}.yaml")
        return beside.read_text(encoding="utf-8") if beside.exists() else None

    text = path.read_text(encoding="utf-8")
    called = {name: found for name in re.findall(r"workflow: ([a-z-]+)", text) if (found := resolve(name))}
    assert shown(load(text, calls=called)) == []
