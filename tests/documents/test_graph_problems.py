import pytest
from tests.documents.loading import load, nodes


@pytest.mark.parametrize(
    ("text", "position"),
    [
        (nodes("  a: {type: noop, needs: [z]}"), (3, 27)),
        (nodes("  a: {type: noop, needs: [{node: z}]}"), (3, 34)),
        (nodes("  a: {type: noop}\nedges:\n  - from: z\n    to: a"), (5, 11)),
        (nodes("  a: {type: noop}\nedges:\n  - from: a\n    to: z"), (6, 9)),
        (nodes("  a: {type: noop}\nedges:\n  - from: a\n    to: a"), (5, 5)),
    ],
)
def test_an_edge_is_told_where_it_is_written(text: str, position: tuple[int, int]) -> None:
    [problem] = load(text).problems
    assert (problem.line, problem.column) == position


def test_an_outcome_that_is_misspelt_is_told_with_those_that_exist() -> None:
    text = nodes("  a: {type: approval}\n  b: {type: noop, needs: [{node: a, outcome: aproved}]}")
    [problem] = load(text).problems
    assert problem.message == (
        "a cannot leave by 'aproved'; it leaves by approved, rejected, expired, or write failure, done or always;"
        " did you mean 'approved'?"
    )


def test_the_cases_of_a_switch_are_among_what_is_meant() -> None:
    text = nodes(
        "  a: {type: switch, with: {cases: [{name: large, if: 'true'}]}}\n"
        "  b: {type: noop, needs: [{node: a, outcome: large}, {node: a, outcome: lage}]}"
    )
    [problem] = load(text).problems
    assert problem.message.endswith("did you mean 'large'?")


def test_a_join_says_nothing_while_its_edges_are_wrong_themselves() -> None:
    text = nodes("  a: {type: noop}\n  b: {type: noop, needs: [a, zz], join: {atLeast: 2}}")
    assert [problem.code for problem in load(text).problems] == ["unknown_node"]


def test_a_cycle_over_needs_and_edges_stands_at_the_first_of_its_edges() -> None:
    text = nodes("  a: {type: noop}\n  b: {type: noop, needs: [a]}\nedges:\n  - {from: b, to: a}")
    [problem] = load(text).problems
    assert (problem.path, problem.line) == ("nodes.b.needs[0]", 4)
    assert "a → b → a" in problem.message
