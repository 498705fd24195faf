"""Gathers problems while a document is looked through: each once, in the order of the text.

What only follows from another problem is left out: nothing is said of a place where something is wrong already.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from riven.core.errors import Problem, Severity
from riven.documents.builder import Flaw
from riven.documents.codes import Code
from riven.documents.nearest import hint
from riven.documents.places import Lines, Location, Tree, dotted, shorten

MAX_PROBLEMS = 1_000
"""Told in one answer; what is more is only counted."""
_KEPT = 2 * MAX_PROBLEMS
_MOST_COMPARED = 500_000
_LONGEST = 1_000
"""Characters of a message; keys and texts of the document are in it."""


@dataclass(slots=True)
class Findings:
    tree: Tree | None = None
    _found: list[Problem] = field(default_factory=list)
    _seen: set[tuple[str, str, str]] = field(default_factory=set)
    _spoiled: set[Location] = field(default_factory=set)
    _compared: int = 0
    _left_out: int = 0
    _left_out_errors: int = 0

    def flaws(self, flaws: Iterable[Flaw], lines: Lines) -> None:
        for flaw in flaws:
            line, column = lines.at(flaw.offset)
            self._keep(
                Problem(
                    path=dotted(flaw.location), code=flaw.code, message=flaw.message, line=line, column=column
                )
            )
            if flaw.spoiled:
                self._spoiled.add(flaw.location)

    def error(
        self,
        location: Location,
        code: str,
        message: str,
        *,
        at_key: bool = False,
        at: Location | None = None,
    ) -> None:
        """`at`: where to look in the text, if that is elsewhere."""
        self._add(location, code, message, Severity.ERROR, at or location, at_key=at_key)

    def warning(self, location: Location, code: str, message: str) -> None:
        self._add(location, code, message, Severity.WARNING, location)

    def spoil(self, location: Location) -> None:
        """Something is wrong here already: what is found at or below this place from now on says nothing new."""
        self._spoiled.add(location)

    def is_spoiled(self, location: Location) -> bool:
        return any(location[:depth] in self._spoiled for depth in range(len(location) + 1))

    def hint(self, name: str, names: Collection[str], synonyms: Mapping[str, str] | None = None) -> str:
        """`; did you mean 'x'?`, or nothing; also nothing once very many names were compared for this document."""
        self._compared += len(names)
        return hint(name, names, synonyms) if self._compared <= _MOST_COMPARED else ""

    def problems(self) -> tuple[Problem, ...]:
        """In the order of the text."""
        ordered = sorted(
            self._found, key=lambda problem: (problem.line or 0, problem.column or 0, problem.path)
        )
        more = self._left_out + len(ordered[MAX_PROBLEMS:])
        if not more:
            return tuple(ordered)
        errors = self._left_out_errors + sum(
            problem.severity is Severity.ERROR for problem in ordered[MAX_PROBLEMS:]
        )
        said = f"and {more:,} more; mend these first"
        severity = Severity.ERROR if errors else Severity.WARNING
        last = ordered[MAX_PROBLEMS - 1]
        rest = Problem(
            path="",
            code=Code.TOO_MANY_PROBLEMS.value,
            message=said,
            severity=severity,
            line=last.line,
            column=last.column,
        )
        return (*ordered[:MAX_PROBLEMS], rest)

    def _add(
        self,
        location: Location,
        code: str,
        message: str,
        severity: Severity,
        at: Location,
        *,
        at_key: bool = False,
    ) -> None:
        if self._spoiled and self.is_spoiled(location):
            return
        if len(self._found) >= _KEPT:
            self._count(severity)
            return
        line, column = self.tree.position(at, key=at_key) if self.tree is not None else (None, None)
        self._keep(
            Problem(
                path=dotted(location),
                code=str(code),
                message=shorten(message, _LONGEST),
                severity=severity,
                line=line,
                column=column,
            )
        )

    def _keep(self, problem: Problem) -> None:
        mark = (problem.path, problem.code, problem.message)
        if mark in self._seen and problem.code != Code.DUPLICATE_KEY:
            return
        self._seen.add(mark)
        self._found.append(problem)

    def _count(self, severity: Severity) -> None:
        self._left_out += 1
        self._left_out_errors += severity is Severity.ERROR
