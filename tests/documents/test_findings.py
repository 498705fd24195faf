from riven.core.errors import Severity
from riven.documents.builder import Flaw
from riven.documents.findings import MAX_PROBLEMS, Findings
from riven.documents.parse import parse

PARSED = parse("a: 1\nb:\n  c: 2\n  d: {{ x }}\ne: 3\n")


def findings() -> Findings:
    return Findings(PARSED.tree)


def test_problems_come_in_the_order_of_the_text() -> None:
    found = findings()
    found.error(("e",), "wrong_type", "third")
    found.warning(("a",), "unused_setting", "first")
    found.error(("b", "c"), "wrong_type", "second")
    assert [(p.path, p.line, p.column, p.severity) for p in found.problems()] == [
        ("a", 1, 4, Severity.WARNING),
        ("b.c", 3, 6, Severity.ERROR),
        ("e", 5, 4, Severity.ERROR),
    ]


def test_nothing_is_told_twice() -> None:
    found = findings()
    for _ in range(2):
        found.error(("a",), "wrong_type", "same")
    found.error(("a",), "wrong_type", "other")
    assert len(found.problems()) == 2


def test_nothing_is_said_at_or_below_a_place_that_is_wrong_already() -> None:
    found = findings()
    found.flaws(PARSED.flaws, PARSED.lines)
    assert found.is_spoiled(("b", "d"))
    found.error(("b", "d"), "wrong_type", "follows")
    found.error(("b", "d", "x"), "wrong_type", "follows")
    found.error(("b",), "wrong_type", "does not")
    found.spoil(("e",))
    found.error(("e", 3), "wrong_type", "follows")
    assert [(p.path, p.code) for p in found.problems()] == [("b", "wrong_type"), ("b.d", "invalid_key")]


def test_a_duplicate_is_told_each_time_it_stands_there() -> None:
    found = findings()
    found.flaws([Flaw("duplicate_key", "twice", ("a",), offset) for offset in (0, 5)], PARSED.lines)
    assert [p.line for p in found.problems()] == [1, 2]


def test_what_is_too_much_is_counted_and_keeps_its_severity() -> None:
    for severity, tell in ((Severity.WARNING, Findings.warning), (Severity.ERROR, Findings.error)):
        found = findings()
        for number in range(5 * MAX_PROBLEMS):
            tell(found, ("a", number), "unused_setting", "one of many")
        *rest, last = found.problems()
        assert len(rest) == MAX_PROBLEMS
        assert (last.code, last.severity) == ("too_many_problems", severity)
        assert last.message.startswith("and 4,000 more")


def test_without_a_text_there_are_no_lines() -> None:
    found = Findings()
    found.error(("a",), "wrong_type", "x")
    [problem] = found.problems()
    assert (problem.line, problem.column) == (None, None)
