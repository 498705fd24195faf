import pytest

from riven.nodes.fair_line import FairLine


def taken(line: FairLine[str]) -> list[str]:
    return [line.pop() for _ in range(len(line))]


def filled(*items: str) -> FairLine[str]:
    """The caller is the item's first letter."""
    line: FairLine[str] = FairLine()
    for item in items:
        line.push(item[0], item)
    return line


def test_one_caller_alone_is_served_in_its_order() -> None:
    assert taken(filled("a1", "a2", "a3")) == ["a1", "a2", "a3"]


def test_callers_take_turns_each_in_its_order() -> None:
    assert taken(filled("a1", "a2", "a3", "b1", "b2", "c1")) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_who_comes_later_waits_one_turn_and_not_behind_the_crowd() -> None:
    line = filled("a1", "a2", "a3", "a4")
    assert line.pop() == "a1"
    line.push("b", "b1")
    assert taken(line) == ["a2", "b1", "a3", "a4"]


def test_who_comes_back_stands_at_the_end_of_the_turns() -> None:
    line = filled("a1", "b1", "b2")
    assert line.pop() == "a1"
    line.push("a", "a2")
    assert taken(line) == ["b1", "a2", "b2"]


def test_it_is_as_long_as_what_is_in_it_and_empty_once_cleared() -> None:
    line = filled("a1", "b1", "a2")
    assert len(line) == 3
    assert sorted(line.clear()) == ["a1", "a2", "b1"]
    assert not line
    with pytest.raises(IndexError):
        line.pop()
