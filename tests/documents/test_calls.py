import pytest
from tests.documents.loading import REGISTRY, load, nodes, shown

from riven.core.graph import NodeKind
from riven.documents.load import load_document
from riven.documents.normalise import build_graph

CHARGE = """\
name: charge
input: {type: object, required: [amount], properties: {amount: {type: number}}, additionalProperties: false}
nodes:
  pay: {type: noop}
output: done
"""


def calling(workflow: str, more: str = "input: {amount: '{{ input.amount }}'}") -> str:
    return nodes(f"  sub: {{type: call, with: {{workflow: {workflow}, {more}}}}}")


def test_a_called_workflow_becomes_an_inner_graph() -> None:
    loaded = load(calling("charge"), calls={"charge": CHARGE})
    assert loaded.problems == ()
    assert loaded.document is not None
    assert list(loaded.document.calls) == ["charge"]
    assert loaded.graph is not None
    [node] = loaded.graph.nodes
    assert node.kind is NodeKind.CALL
    assert node.body is not None
    assert [inner.key for inner in node.body.nodes] == ["pay"]
    assert node.body.has_output
    assert build_graph(loaded.document, REGISTRY) == loaded.graph


def test_workflows_are_found_by_name_and_version_and_those_that_they_call_too() -> None:
    text = nodes(
        "  a: {type: call, with: {workflow: middle}}\n"
        "  b: {type: call, with: {workflow: leaf, version: 2}}\n"
        "  each: {type: for_each, with: {items: [1]}, body: {nodes: {c: {type: call, with: {workflow: leaf}}}}}"
    )
    middle = "name: middle\nnodes: {a: {type: call, with: {workflow: leaf}}}"
    leaf = "name: leaf\nnodes: {a: {type: noop}}"
    loaded = load(text, calls={"middle": middle, "leaf": leaf, "leaf@2": leaf.replace("a:", "a2:")})
    assert loaded.problems == ()
    assert loaded.document is not None
    assert sorted(loaded.document.calls) == ["leaf", "leaf@2", "middle"]
    assert all(called.calls == {} for called in loaded.document.calls.values())
    graph = build_graph(loaded.document, REGISTRY)
    assert graph == loaded.graph
    a, b, each = graph.nodes
    assert a.body is not None
    assert b.body is not None
    assert each.body is not None
    assert a.body.nodes[0].body is each.body.nodes[0].body
    assert b.body.nodes[0].key == "a2"


def test_a_workflow_that_is_not_there_is_told_where_it_is_called() -> None:
    assert shown(load(calling("charge"), calls={})) == ["3 nodes.sub.with.workflow unknown_workflow"]
    assert shown(load(calling("charge", "version: 3"), calls={"charge": CHARGE})) == [
        "3 nodes.sub.with.workflow unknown_workflow"
    ]


def test_problems_of_a_called_workflow_are_told_once_with_their_own_place() -> None:
    broken = (
        "name: charge\nnodes:\n  a: {type: nope}\n  b: {type: noop, needs: [z]}\n  c: {type: noop, join: any}"
    )
    text = calling("charge") + "\n  again: {type: call, with: {workflow: charge}}"
    loaded = load(text, calls={"charge": broken})
    assert shown(loaded) == [
        "3 nodes.sub.with.workflow unknown_type",
        "3 nodes.sub.with.workflow unknown_node",
    ]
    assert loaded.problems[0].message.startswith("in the workflow charge: nodes.a.type, line 3: there is no")


def test_text_that_is_no_document_is_a_problem_of_the_call() -> None:
    [problem] = load(calling("charge"), calls={"charge": "a: ["}).problems
    assert problem.code == "yaml_syntax"
    assert problem.message.startswith("in the workflow charge: line 1: ")


def test_a_called_workflow_with_problems_without_end_is_cut_short() -> None:
    broken = nodes("\n".join(f"  n{number}: {{type: nope}}" for number in range(50)))
    loaded = load(calling("charge"), calls={"charge": broken})
    assert len(loaded.problems) == 21
    assert loaded.problems[-1].code in ("unknown_type", "too_many_problems")


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ({}, "x → x"),
        ({"y": nodes("  a: {type: call, with: {workflow: x}}")}, "x → y → x"),
        (
            {
                "y": "name: y\nnodes: {a: {type: call, with: {workflow: z}}}",
                "z": "name: z\nnodes: {a: {type: call, with: {workflow: y}}}",
            },
            "y → z → y",
        ),
    ],
)
def test_recursion_is_refused_and_names_the_chain(calls: dict[str, str], words: str) -> None:
    loaded = load(calling("y" if calls else "x", "input: {}"), calls=calls)
    [problem] = loaded.problems
    assert problem.code == "call_recursion"
    assert words in problem.message
    assert problem.path == "nodes.sub.with.workflow"


def test_a_call_of_itself_is_seen_without_looking_for_any_other() -> None:
    [problem] = load(calling("x", "input: {}")).problems
    assert (problem.path, problem.code) == ("nodes.sub.with.workflow", "call_recursion")


def test_a_chain_of_calls_is_at_most_eight_levels_long() -> None:
    def chain(length: int) -> dict[str, str]:
        middle = {
            f"w{number}": f"name: w{number}\nnodes: {{a: {{type: call, with: {{workflow: w{number + 1}}}}}}}"
            for number in range(1, length)
        }
        return {**middle, f"w{length}": f"name: w{length}\nnodes: {{a: {{type: noop}}}}"}

    assert load(calling("w1", "input: {}"), calls=chain(8)).problems == ()
    [problem] = load(calling("w1", "input: {}"), calls=chain(9)).problems
    assert problem.code == "too_many_levels"
    asked: list[str] = []

    def endless(name: str, version: int | None) -> str:
        assert version is None
        asked.append(name)
        return f"name: {name}\nnodes: {{a: {{type: call, with: {{workflow: {name}x}}}}}}"

    loaded = load_document(calling("w", "input: {}"), registry=REGISTRY, calls=endless)
    assert [problem.code for problem in loaded.problems] == ["too_many_levels"]
    assert len(asked) == 8


def test_calls_and_bodies_count_their_levels_together() -> None:
    inner = "{a: {type: noop}}"
    for _ in range(5):
        inner = f"{{e: {{type: for_each, with: {{items: [1]}}, body: {{nodes: {inner}}}}}}}"
    sub = f"name: sub\nnodes: {inner}"
    outer = "{c: {type: call, with: {workflow: sub}}}"
    for _ in range(2):
        outer = f"{{e: {{type: for_each, with: {{items: [1]}}, body: {{nodes: {outer}}}}}}}"
    assert load(f"name: x\nnodes: {outer}", calls={"sub": sub}).problems == ()
    deeper = f"{{e: {{type: for_each, with: {{items: [1]}}, body: {{nodes: {outer}}}}}}}"
    [problem] = load(f"name: x\nnodes: {deeper}", calls={"sub": sub}).problems
    assert problem.code == "too_many_levels"


def test_an_input_that_is_written_out_is_checked_against_the_called_schema() -> None:
    calls = {"charge": CHARGE}
    assert shown(load(calling("charge", "input: {amount: 3}"), calls=calls)) == []
    assert shown(load(calling("charge", "input: {amount: '{{ input.a }}'}"), calls=calls)) == []
    loaded = load(calling("charge", "input: {amount: many, more: 1}"), calls=calls)
    assert sorted(shown(loaded)) == [
        "3 nodes.sub.with.input unknown_field",
        "3 nodes.sub.with.input wrong_type",
    ]
    assert shown(load(calling("charge", "version: null"), calls=calls)) == [
        "3 nodes.sub.with.input missing_field"
    ]


def test_without_a_resolver_calls_are_not_looked_for() -> None:
    loaded = load(calling("charge"))
    assert loaded.problems == ()
    assert loaded.valid


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "Charge", "''", "3", "null", "[a]", "'{{ input.x }}'"]
)
def test_the_resolver_is_never_asked_for_what_is_no_name(name: str) -> None:
    def resolve(name: str, version: int | None) -> str:
        raise AssertionError((name, version))

    assert not load_document(calling(name), registry=REGISTRY, calls=resolve).valid
