import pytest
from tests.documents.loading import load, nodes, shown

FLOW = """\
  first: {type: noop}
  choose: {type: condition, with: {if: 'true'}, needs: [first]}
  yes: {type: noop, needs: [{node: choose, outcome: true}]}
  no: {type: noop, needs: [{node: choose, outcome: false}]}
  end: {type: noop, needs: [yes, no]}
"""


def reading(key: str, expression: str, more: str = "") -> list[str]:
    """Problems when a node after `key` evaluates the expression."""
    text = nodes(
        f"{FLOW}  reader: {{type: set, with: {{value: '{{{{ {expression} }}}}'}}, needs: [{key}]{more}}}"
    )
    return shown(load(text))


@pytest.mark.parametrize(
    ("key", "step"),
    [("first", "first"), ("choose", "first"), ("yes", "choose"), ("end", "choose"), ("end", "end")],
)
def test_steps_that_must_have_completed_can_be_read_plainly(key: str, step: str) -> None:
    assert reading(key, f"steps.{step}.output") == []


@pytest.mark.parametrize("step", ["yes", "no"])
def test_reading_a_branch_behind_the_merge_is_a_warning_unless_by_maybe(step: str) -> None:
    assert reading("end", f"steps.{step}.output") == ["8 nodes.reader.with.value maybe_skipped?"]
    assert reading("end", f"steps.?{step}.?output.orValue(1)") == []
    assert reading("end", f"steps.{step}.status") == []
    assert reading("end", f"has(steps.{step}.output)") == []


@pytest.mark.parametrize("more", [", join: any", ", join: all_done"])
def test_a_join_may_make_what_was_certain_uncertain(more: str) -> None:
    text = nodes(
        "  a: {type: noop, when: 'input.x'}\n  b: {type: noop}\n"
        f"  reader: {{type: set, with: {{value: '{{{{ steps.a.output }}}}'}}, needs: [a, b]{more}}}"
    )
    assert shown(load(text)) == ["5 nodes.reader.with.value maybe_skipped?"]


def test_the_handler_of_a_failure_is_warned_of_the_output_that_is_not_there() -> None:
    text = nodes(
        "  a: {type: noop}\n"
        "  h: {type: set, with: {value: '{{ steps.a.error.message }}'}, needs: [{node: a, outcome: failure}]}\n"
        "  g: {type: set, with: {value: '{{ steps.a.output }}'}, needs: [{node: a, outcome: failure}]}"
    )
    assert shown(load(text)) == ["5 nodes.g.with.value maybe_skipped?"]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("steps.no.output", "not_an_ancestor"),
        ("steps.?no.?output.orValue(1)", "not_an_ancestor"),
        ("steps.reader.output", "not_an_ancestor"),
        ("steps.nobody.output", "unknown_step"),
        ('steps["nobody"].output', "unknown_step"),
        ("item", "root_not_here"),
        ("index", "root_not_here"),
        ("iteration.index", "root_not_here"),
        ("vars.nope", "unknown_constant"),
        ("nope", "unknown_name"),
        ("steps", "dynamic_reference"),
        ("1 +", "expression_syntax"),
        ("size(1, 2)", "unknown_function"),
        ("x" * 5_000, "expression_too_long"),
    ],
)
def test_what_is_not_there_is_an_error_with_its_code(expression: str, code: str) -> None:
    assert reading("yes", expression) == [f"8 nodes.reader.with.value {code}"]


@pytest.mark.parametrize(
    "expression",
    [
        "vars.?nope.orValue(1)",
        "input.anything",
        "execution.id",
        "workspace.name",
        "trigger",
        "secrets.token",
        "[1].map(each, each)",
    ],
)
def test_what_is_everywhere_can_be_read(expression: str) -> None:
    assert reading("yes", expression) == []


def test_a_step_that_is_no_ancestor_says_which_edge_is_missing() -> None:
    [problem] = load(
        nodes("  a: {type: noop}\n  b: {type: log, with: {message: '{{ steps.a.output }}'}}")
    ).problems
    assert "add an edge from a to b" in problem.message


def test_a_malformed_placeholder_is_told_also_beside_a_good_one() -> None:
    assert reading("yes", "input.a }} and {{ input.") == ["8 nodes.reader.with.value expression_syntax"]


def test_every_wrong_placeholder_of_a_value_has_its_own_place() -> None:
    text = nodes(
        "  a:\n    type: http_request\n    with:\n      url: '{{ input.x'\n      headers: {a.b: '{{ item }}'}\n"
        "      json:\n        - 1\n        - {deep: '{{ steps.z.output }}'}"
    )
    assert shown(load(text)) == [
        "6 nodes.a.with.url placeholder_unclosed",
        '7 nodes.a.with.headers["a.b"] root_not_here',
        "10 nodes.a.with.json[1].deep unknown_step",
    ]


@pytest.mark.parametrize(
    "field",
    [
        "type: noop, when: 'secrets.a == \"\"'",
        "type: condition, with: {if: 'secrets.a == \"\"'}",
        "type: wait, with: {for: '{{ secrets.a }}'}",
        "type: signal, with: {name: '{{ secrets.a }}'}",
        "type: for_each, with: {items: '{{ secrets.a }}'}, body: {nodes: {b: {type: noop}}}",
        "type: repeat, with: {until: 'secrets.a == \"\"'}, body: {nodes: {b: {type: noop}}}",
        "type: for_each, with: {items: [1]}, body: {nodes: {b: {type: noop}}, output: '{{ secrets.a }}'}",
    ],
)
def test_secrets_stand_in_the_configuration_of_actions_alone(field: str) -> None:
    loaded = load(nodes(f"  a: {{{field}}}\n  z: {{type: noop, needs: [a]}}"))
    assert [problem.code for problem in loaded.problems] == ["secret_not_allowed"]


def test_secrets_do_not_stand_in_the_output() -> None:
    assert shown(load("name: x\noutput: {a: ['{{ secrets.a }}']}")) == ["2 output.a[0] secret_not_allowed"]


def test_the_output_reads_every_node_of_its_scope() -> None:
    assert shown(load(nodes(f"{FLOW}output: '{{{{ steps.first.output }}}}{{{{ steps.end.output }}}}'"))) == []
    assert shown(load(nodes(f"{FLOW}output: '{{{{ steps.yes.output }}}}'"))) == ["8 output maybe_skipped?"]
    assert shown(load(nodes(f"{FLOW}output: '{{{{ steps.nobody.output }}}}'"))) == ["8 output unknown_step"]


LOOP = """\
  before: {{type: noop}}
  beside: {{type: noop}}
  each:
    type: for_each
    needs: [before]
    with: {{items: '{{{{ {items} }}}}'}}
    body:
      nodes:
        one: {{type: set, with: {{value: '{{{{ {one} }}}}'}}}}
        two: {{type: set, with: {{value: '{{{{ {two} }}}}'}}, needs: [one]}}
      output: '{{{{ {output} }}}}'
  after: {{type: set, with: {{value: '{{{{ {after} }}}}'}}, needs: [each]}}
"""


@pytest.mark.parametrize(
    ("place", "expression", "expected"),
    [
        ("items", "steps.before.output", []),
        ("items", "item", ["8 nodes.each.with.items root_not_here"]),
        ("one", "item + index", []),
        ("one", "steps.before.output", []),
        ("one", "steps.beside.output", ["11 nodes.each.body.nodes.one.with.value not_an_ancestor"]),
        ("one", "steps.two.output", ["11 nodes.each.body.nodes.one.with.value not_an_ancestor"]),
        ("one", "steps.each.output", ["11 nodes.each.body.nodes.one.with.value not_an_ancestor"]),
        ("one", "steps.after.output", ["11 nodes.each.body.nodes.one.with.value not_an_ancestor"]),
        ("one", "iteration.index", ["11 nodes.each.body.nodes.one.with.value root_not_here"]),
        ("two", "steps.one.output", []),
        ("output", "[item, steps.one.output, steps.before.output]", []),
        ("output", "steps.beside.output", ["13 nodes.each.body.output not_an_ancestor"]),
        ("after", "steps.each.output", []),
        ("after", "steps.one.output", ["14 nodes.after.with.value unknown_step"]),
        ("after", "item", ["14 nodes.after.with.value root_not_here"]),
    ],
)
def test_bodies_read_their_own_steps_and_those_before_their_container(
    place: str, expression: str, expected: list[str]
) -> None:
    plain = {"items": "[1]", "one": "1", "two": "1", "output": "1", "after": "1"}
    assert shown(load(nodes(LOOP.format(**plain | {place: expression})))) == expected


def test_a_step_inside_of_a_body_is_told_from_outside_by_its_container() -> None:
    plain = {"items": "[1]", "one": "1", "two": "1", "output": "1", "after": "steps.two.output"}
    [problem] = load(nodes(LOOP.format(**plain))).problems
    assert "two stands in the body of each" in problem.message
    assert "steps.each.output" in problem.message


def test_an_inner_step_hides_an_outer_one_of_the_same_key() -> None:
    text = nodes(
        "  a: {type: noop}\n  each:\n    type: for_each\n    with: {items: [1]}\n    body:\n      nodes:\n"
        "        a: {type: noop}\n        b: {type: set, with: {value: '{{ steps.a.output }}'}, needs: [a]}"
    )
    assert shown(load(text)) == []


def test_an_uncertain_outer_step_is_a_warning_inside_of_a_body() -> None:
    text = nodes(
        "  a: {type: noop, when: 'input.x'}\n  b: {type: noop}\n  each:\n    type: for_each\n    needs: [a, b]\n"
        "    with: {items: [1]}\n    body:\n      nodes:\n        c: {type: set, with: {value: '{{ steps.a.output }}'}}"
    )
    assert shown(load(text)) == ["11 nodes.each.body.nodes.c.with.value maybe_skipped?"]


@pytest.mark.parametrize("question", ["while", "until"])
def test_a_repeat_sees_its_iteration_in_its_question_and_its_body(question: str) -> None:
    text = nodes(
        f"  poll:\n    type: repeat\n    with: {{{question}: 'iteration.index < 3 && iteration.previous == null'}}\n"
        "    body:\n      nodes:\n        a: {type: set, with: {value: '{{ iteration.index }}'}}\n"
        "        each:\n          type: for_each\n          with: {items: '{{ iteration.previous }}'}\n"
        "          body: {nodes: {b: {type: set, with: {value: '{{ [item, iteration.index] }}'}}}}\n"
        "      output: '{{ iteration.index }}'"
    )
    assert shown(load(text)) == []


def test_when_and_conditions_are_bare_expressions_that_say_true_or_false() -> None:
    text = nodes(
        "  a: {type: noop, when: '{{ input.x }}'}\n"
        "  b: {type: noop, when: '\"text\"'}\n"
        "  c: {type: noop, when: 'input.x'}\n"
        "  d: {type: noop, when: false}\n"
        "  e: {type: switch, with: {cases: [{name: x, if: 'steps.a.status == \"COMPLETED\"'}, {name: y, if: '1'}]}, needs: [a]}\n"
        "  f: {type: noop, needs: [e]}"
    )
    assert shown(load(text)) == [
        "3 nodes.a.when placeholder_in_expression",
        "4 nodes.b.when not_boolean",
        "7 nodes.e.with.cases[1].if not_boolean",
    ]


def test_nothing_is_said_of_readers_on_a_cycle() -> None:
    text = nodes(
        "  a: {type: set, with: {value: '{{ steps.b.output }}'}, needs: [b]}\n"
        "  b: {type: set, with: {value: '{{ steps.a.output }}'}, needs: [a]}\n"
        "  c: {type: set, with: {value: '{{ steps.a.output }}'}, needs: [b]}"
    )
    assert [problem.code for problem in load(text).problems] == ["cycle"]
