import pytest

from riven.documents.builder import MAX_DEPTH, MAX_FLAWS, Builder, UnreadableError
from riven.documents.places import Lines


def builder() -> Builder:
    return Builder(Lines(" " * 100))


def test_what_is_built_knows_the_place_of_every_key_and_value() -> None:
    made = builder()
    made.open({}, 0)
    made.key("a", 1)
    made.open([], 4)
    made.scalar(1, 5)
    made.scalar("x", 7)
    made.close()
    made.key("b", 9)
    made.scalar(None, 12)
    made.close()
    tree = made.tree()
    assert tree.value == {"a": [1, "x"], "b": None}
    assert [tree.position(place)[1] for place in ((), ("a",), ("a", 1), ("b",))] == [1, 2, 8, 13]
    assert tree.position(("b",), key=True) == (1, 10)


def test_the_first_of_two_equal_keys_is_kept_and_the_second_one_told() -> None:
    made = builder()
    made.open({}, 0)
    for offset in (1, 20):
        made.key("a", offset)
        made.open({}, offset + 3)
        made.key("inner", offset + 4)
        made.scalar(offset, offset + 6)
        made.close()
    made.close()
    assert made.root == {"a": {"inner": 1}}
    [flaw] = made.flaws
    assert (flaw.code, flaw.location, flaw.offset, flaw.spoiled) == ("duplicate_key", ("a",), 20, False)


def test_nesting_ends_somewhere() -> None:
    made = builder()
    for _ in range(MAX_DEPTH):
        made.open([], 0)
    with pytest.raises(UnreadableError) as caught:
        made.open([], 9)
    assert (caught.value.code, caught.value.offset) == ("too_deep", 9)


def test_an_alias_gives_the_same_value_again() -> None:
    made = builder()
    made.open([], 0)
    made.open({}, 1, "x")
    made.close()
    made.alias("x", 5)
    made.close()
    assert made.root[0] is made.root[1]
    assert made.flaws == []


def test_an_alias_without_anchor_or_inside_of_it_is_told_and_stands_for_null() -> None:
    made = builder()
    made.open([], 0, "x")
    made.alias("x", 1)
    made.alias("y", 2)
    made.close()
    assert made.root == [None, None]
    assert [flaw.code for flaw in made.flaws] == ["alias_recursion", "unknown_alias"]


def test_repeating_by_aliases_ends_somewhere() -> None:
    made = builder()
    made.open([], 0)
    made.scalar("x" * 1_000_000, 0, "big")
    for _ in range(4):
        made.alias("big", 1)
    with pytest.raises(UnreadableError, match="4 MiB"):
        made.alias("big", 2)


def test_more_flaws_than_anybody_reads_are_not_kept() -> None:
    made = builder()
    made.open({}, 0)
    for _ in range(MAX_FLAWS + 10):
        made.key("a", 0)
        made.scalar(1, 0)
    assert len(made.flaws) == MAX_FLAWS
