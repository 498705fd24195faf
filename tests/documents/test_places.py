import pytest

from riven.documents.parse import parse
from riven.documents.places import Lines, Location, dotted, find, shorten, texts


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ((), ""),
        (("nodes", "order", "with", "url"), "nodes.order.with.url"),
        (("edges", 2, "to"), "edges[2].to"),
        (("with", "headers", "X-Trace"), "with.headers.X-Trace"),
        (("with", "a.b", 0), 'with["a.b"][0]'),
        (("with", 'say "hi"'), r'with["say \"hi\""]'),
        (("with", "two words"), 'with["two words"]'),
        (("", "a"), '[""].a'),
        (("\x1b[2J",), '["\ufffd[2J"]'),
    ],
)
def test_a_path_can_be_read_and_printed(location: Location, path: str) -> None:
    assert dotted(location) == path


def test_a_path_of_a_huge_key_is_short() -> None:
    assert len(dotted(("k" * 10_000,))) < 200


def test_shortening_leaves_one_printable_line() -> None:
    assert shorten("a\nb\x07\u202ec") == "a\ufffdb\ufffd\ufffdc"
    assert shorten("x" * 100, 10) == "xxxxxxxxx…"


def test_lines_and_columns_count_from_one_whatever_ends_a_line() -> None:
    lines = Lines("a\nbc\r\nd\re")
    assert [lines.at(offset) for offset in (0, 2, 3, 6, 8, 9)] == [
        (1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (4, 2),
    ]  # fmt: skip


TEXT = """\
name: x
nodes:
  order:
    type: noop
    with:
      items:
        - one
        - {a: 1}
"""


@pytest.mark.parametrize(
    ("location", "position"),
    [
        ((), (1, 1)),
        (("name",), (1, 7)),
        (("nodes", "order"), (3, 3)),
        (("nodes", "order", "type"), (4, 11)),
        (("nodes", "order", "with", "items"), (6, 7)),
        (("nodes", "order", "with", "items", 0), (7, 11)),
        (("nodes", "order", "with", "items", 1), (8, 11)),
        (("nodes", "order", "with", "items", 1, "a"), (8, 15)),
        (("nodes", "order", "timeout"), (3, 3)),
        (("nodes", "order", "with", "items", 7), (6, 7)),
        (("nodes", "order", "type", "deeper"), (4, 11)),
    ],
)
def test_values_stand_where_they_are_written_and_what_is_missing_where_it_should_be(
    location: Location, position: tuple[int, int]
) -> None:
    tree = parse(TEXT).tree
    assert tree is not None
    assert tree.position(location) == position


def test_a_key_has_a_place_of_its_own() -> None:
    tree = parse(TEXT).tree
    assert tree is not None
    assert tree.position(("nodes", "order", "type"), key=True) == (4, 5)


def test_find_goes_as_far_as_there_is_something() -> None:
    value = {"a": [{"b": 1}]}
    assert find(value, ("a", 0, "b")) == (1, ("a", 0, "b"))
    assert find(value, ("a", 1, "b")) == ([{"b": 1}], ("a",))
    assert find(value, ("a", 0, "b", "c")) == (1, ("a", 0, "b"))


def test_texts_come_in_the_order_of_the_document() -> None:
    value = {"a": "1", "b": [{"c": "2"}, 3, "4"], "d": None, "e": {"f": "5"}}
    assert list(texts(value)) == [
        (("a",), "1"),
        (("b", 0, "c"), "2"),
        (("b", 2), "4"),
        (("e", "f"), "5"),
    ]
    assert list(texts("alone")) == [((), "alone")]
