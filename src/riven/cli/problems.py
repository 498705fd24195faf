"""Problems of documents, for people (with the lines that they are about) and as JSON."""

from collections.abc import Iterator, Sequence

import click

from riven.cli.excerpt import excerpt, source_lines
from riven.cli.lettering import clipped, printable
from riven.core.errors import Problem, Severity
from riven.wire.document import Json

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}
_LONGEST = 2_000


def problem_json(problem: Problem) -> dict[str, Json]:
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
    }


def problem_lines(name: str, text: str, problems: Sequence[Problem], width: int) -> Iterator[str]:
    """Each problem with its place, its words and the lines of `text` around it, styled; no place without a name."""
    lines = source_lines(text)
    for problem in problems:
        colour = _COLOURS[problem.severity]
        place = (part for part in (printable(name), problem.line, problem.column) if part is not None)
        path = f"{printable(problem.path)}: " if problem.path else ""
        words = [click.style(f"{':'.join(map(str, place))}:", bold=True)] if name else []
        words += [
            click.style(f"{problem.severity.value}:", fg=colour, bold=True),
            clipped(f"{path}{printable(problem.message)}", _LONGEST),
            click.style(f"[{problem.code}]", dim=True),
        ]
        yield " ".join(words)
        if problem.line is None:
            continue
        shown = excerpt(lines, problem.line, problem.column, width)
        mark = shown.pop() if shown and problem.column is not None else None
        yield from (click.style(line, dim=True) for line in shown[:-1])
        yield from shown[-1:]
        if mark is not None:
            yield click.style(mark, fg=colour)


def errors_of(problems: Sequence[Problem]) -> int:
    return sum(problem.severity is Severity.ERROR for problem in problems)
