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
    """Each problem with its place, its words and the lines of `text` around it, styled."""
    lines = source_lines(text)
    for problem in problems:
        colour = _COLOURS[problem.severity]
        place = ":".join(
            str(part) for part in (printable(name), problem.line, problem.column) if part is not None
        )
        path = f"{printable(problem.path)}: " if problem.path else ""
        yield " ".join(
            (
                click.style(f"{place}:", bold=True),
                click.style(f"{problem.severity.value}:", fg=colour, bold=True),
                clipped(f"{path}{printable(problem.message)}", _LONGEST),
                click.style(f"[{problem.code}]", dim=True),
            )
        )
        if problem.line is not None:
            *around, mark = excerpt(lines, problem.line, problem.column, width) or [""]
            yield from (click.style(line, dim=True) for line in around[:-1])
            yield from around[-1:]
            if mark:
                yield click.style(mark, fg=colour) if problem.column is not None else mark


def errors_of(problems: Sequence[Problem]) -> int:
    return sum(problem.severity is Severity.ERROR for problem in problems)
