import pytest

from riven.core.graph import RESERVED_LABELS
from riven.nodes.builtin.switch import Switch
from riven.nodes.contract import NodeError, NodeResult, Predicate
from riven.nodes.testing import check_node_type, run_node
from riven.wire.document import Json


def cases(*verdicts: tuple[str, bool], asked: list[str]) -> dict[str, Json]:
    def case(name: str, verdict: bool) -> Json:  # noqa: FBT001
        def ask() -> bool:
            asked.append(name)
            return verdict

        return {"name": name, "if": Predicate(name, ask)}

    return {"cases": [case(name, verdict) for name, verdict in verdicts]}


async def test_the_first_true_case_wins_and_the_rest_is_not_asked() -> None:
    asked: list[str] = []
    config = cases(("a", False), ("b", True), ("c", True), asked=asked)
    assert await run_node(Switch, config) == NodeResult({"case": "b"}, "b")
    assert asked == ["a", "b"]


async def test_leaves_by_default_when_none_is_true() -> None:
    config = cases(("a", False), asked=[])
    assert await run_node(Switch, config) == NodeResult({"case": "default"}, "default")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "with.cases"),
        ({"cases": []}, "with.cases"),
        ({"cases": "{{ vars.x }}"}, "with.cases"),
        ({"cases": [{"name": "a"}]}, "with.cases.0.if"),
        ({"cases": [{"if": "true"}]}, "with.cases.0.name"),
        ({"cases": [{"name": "", "if": "true"}]}, "with.cases.0.name"),
        ({"cases": [{"name": "a\nb", "if": "true"}]}, "with.cases.0.name"),
        ({"cases": [{"name": "x" * 200, "if": "true"}]}, "with.cases.0.name"),
        ({"cases": [{"name": 5, "if": "true"}]}, "with.cases.0.name"),
        ({"cases": [{"name": "a", "if": "true", "then": 1}]}, "with.cases.0.then"),
        ({"cases": [{"name": "a", "if": "true"}, {"name": "a", "if": "true"}]}, "'a'"),
        *(
            ({"cases": [{"name": name, "if": "true"}]}, "a label of its own")
            for name in sorted(RESERVED_LABELS)
        ),
    ],
)
async def test_configuration_is_checked(config: dict[str, Json], words: str) -> None:
    with pytest.raises(NodeError) as failed:
        await run_node(Switch, config)
    assert words in failed.value.message


@pytest.mark.parametrize(
    ("config", "labels"),
    [
        ({"cases": [{"name": "a", "if": "x"}, {"name": "b"}]}, ("a", "b", "default")),
        ({"cases": [{"name": "a"}, {"name": "a"}]}, ("a", "default")),
        (
            {"cases": [{"name": "failure"}, {"name": 5}, {"name": None}, {}, 5, None, "x", ["a"]]},
            ("default",),
        ),
        ({"cases": None}, ("default",)),
        ({"cases": {"name": "a"}}, ("default",)),
        ({"cases": "text"}, ("default",)),
        ({}, ("default",)),
    ],
)
def test_labels_are_the_case_names_whatever_stands_there(
    config: dict[str, Json], labels: tuple[str, ...]
) -> None:
    assert Switch().labels(config) == labels


def test_keeps_the_contract_and_is_pure() -> None:
    check_node_type(Switch)
    assert Switch.pure
