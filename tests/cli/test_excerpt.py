import pytest

from riven.cli.excerpt import excerpt, source_lines
from riven.cli.lettering import text_cells


def marked(line: str, column: int, width: int = 80) -> tuple[str, str]:
    """The shown line, and what stands above the mark."""
    shown, mark = excerpt([line], 1, column, width)
    at = mark.index("^")
    cells = 0
    for char in shown:
        if cells == at and text_cells(char):
            return shown, char
        cells += text_cells(char)
    return shown, ""


def test_the_line_before_the_line_itself_and_a_mark() -> None:
    lines = source_lines("name: refund\nnodes:\n  order:\n    type: htp\n")
    assert excerpt(lines, 4, 11, 80) == [
        "  3 |   order:",
        "  4 |     type: htp",
        "    |           ^",
    ]


def test_the_first_line_has_none_before_it() -> None:
    assert excerpt(["nmae: x"], 1, 1, 80) == ["  1 | nmae: x", "    | ^"]


def test_line_numbers_are_aligned_where_they_get_longer() -> None:
    lines = [f"line {number}" for number in range(1, 12)]
    assert excerpt(lines, 10, 6, 80) == ["   9 | line 9", "  10 | line 10", "     |      ^"]


def test_without_a_column_there_is_no_mark() -> None:
    assert excerpt(["a", "b"], 2, None, 80) == ["  1 | a", "  2 | b"]


def test_a_place_beyond_the_end_is_shown_at_the_end() -> None:
    assert excerpt(["a: [1,"], 9, 1, 80) == ["  1 | a: [1,", "    |       ^"]
    assert excerpt([], 1, 1, 80) == []


@pytest.mark.parametrize("column", range(1, 9))
def test_the_mark_stands_below_its_character_after_tabs_and_wide_ones(column: int) -> None:
    line = "\ta\t北京x\u0301y"
    shown, above = marked(line, column)
    expected = line[column - 1]
    if expected == "\t":
        assert above == " "
    elif expected == "\u0301":
        assert above == "y"  # it takes no room of its own
    else:
        assert above == expected
    assert "\t" not in shown


@pytest.mark.parametrize("column", [1, 2, 39, 40, 200, 399, 400])
def test_of_a_long_line_the_part_around_the_place_is_shown(column: int) -> None:
    line = "".join(chr(0x100 + number) for number in range(400))
    shown, above = marked(line, column, width=60)
    assert text_cells(shown) <= 60
    assert above == line[column - 1]


@pytest.mark.parametrize("column", [1, 30, 77, 200])
def test_of_a_long_line_of_wide_characters_too(column: int) -> None:
    line = "".join(chr(0x4E00 + number) for number in range(200))
    shown, above = marked(line, column, width=50)
    assert text_cells(shown) <= 50
    assert above == line[column - 1]


def test_control_characters_do_not_reach_the_terminal() -> None:
    shown = excerpt(["a\x1b[31m\x00\x07b"], 1, 3, 80)
    assert all(char.isprintable() for line in shown for char in line)


def test_lines_end_where_problems_count_them_to_end() -> None:
    assert source_lines("a\r\nb\rc\nd\u2028e\x0bf") == ["a", "b", "c", "d\u2028e\x0bf"]
