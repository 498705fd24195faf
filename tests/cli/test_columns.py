"""Rows in columns."""

import click

from riven.cli.columns import columns


def plain(*rows: tuple[str, ...]) -> list[str]:
    return [click.unstyle(line) for line in columns(("A", "BEE"), rows)]


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    assert plain(("x", "y"), ("long one", "z")) == ["A         BEE", "x         y", "long one  z"]


def test_the_head_is_there_without_rows() -> None:
    assert plain() == ["A  BEE"]


def test_wide_characters_take_two_cells() -> None:
    assert plain(("日本", "y"), ("abcd", "z")) == ["A     BEE", "日本  y", "abcd  z"]


def test_what_is_long_is_cut_but_for_the_last_column() -> None:
    [_, row] = plain(("a" * 100, "b" * 100))
    first, last = row.split("  ")
    assert first.endswith("…")
    assert len(first) <= 60
    assert last == "b" * 100


def test_no_character_acts() -> None:
    assert plain(("\x1b[2J", "a\nb"))[1] == "\\x1b[2J  a\\nb"
