"""Check the text of a document as a workspace sees it: with its published workflows as those that can be called.

Large documents take seconds. They are checked in a thread of their own, one at a time, so that whatever else the
process does goes on meanwhile, and a flood of them delays nobody but each other.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar
from uuid import UUID

import orjson

from riven.catalog.pins import pin_calls
from riven.core.errors import Problem, Severity
from riven.core.graph import Graph
from riven.core.validation import GraphCode, validate
from riven.db.engine import Database, Row
from riven.db.statements import load
from riven.documents.codes import Code
from riven.documents.load import LoadedDocument, load_document
from riven.documents.parse import parse
from riven.nodes.registry import Registry
from riven.wire.document import Document, Json, from_json, to_json

_FIND_PUBLISHED: Final = load("riven.catalog", "find_published")
_SMALL: Final = 2 * 1024
"""Bytes that are checked at once, which takes less time than to hand them over."""
_LARGEST_VERSION: Final = 64 << 20
"""Bytes of a version with all that it calls."""

Called = tuple[str, int | None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A text, and what is wrong with it."""

    problems: Sequence[Problem]
    """All of them, warnings too."""
    value: Json
    """What the text says, as JSON; None where it cannot be read."""
    document: Document | None
    """Pinned, and under the name that was asked for; None when a problem is an error."""

    @property
    def valid(self) -> bool:
        return self.document is not None


@dataclass(frozen=True, slots=True)
class _Published:
    version: int
    document: Document


class DocumentChecker:
    """One for each process that takes documents in."""

    def __init__(
        self, database: Database, registry: Registry, functions: Callable[[], Collection[str]] | None = None
    ) -> None:
        """`functions`: the names that `python` nodes may call; without it they are not checked."""
        self.registry = registry
        self._database = database
        self._functions = functions
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="riven-documents")

    async def check(self, text: str | bytes, workspace_id: UUID | None, name: str | None = None) -> Checked:
        """Without a workspace, called workflows are not looked for. `name`: under which it is kept, whatever it says."""
        if workspace_id is None:
            return await self._run(text, _check, text, self.registry, self._known_functions(), None, name)
        published: dict[Called, _Published | None] = {}
        while True:
            first = _Calls(published)
            checked = await self._run(text, _check, text, self.registry, self._known_functions(), first, name)
            if not first.missing:
                return checked
            published |= await self._find(workspace_id, list(first.missing))

    async def read(self, text: str) -> Json:
        """What the text of a document says, as JSON."""
        return await self._run(text, _value, text)

    async def _run(self, text: str | bytes, call: Callable[..., T], *values: object) -> T:
        if len(text) <= _SMALL:
            return call(*values)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *values)

    def _known_functions(self) -> Collection[str] | None:
        return None if self._functions is None else self._functions()

    async def _find(self, workspace_id: UUID, asked: Sequence[Called]) -> dict[Called, _Published | None]:
        async with self._database.read() as connection:
            rows = await connection.fetch(
                _FIND_PUBLISHED, workspace_id, [name for name, _ in asked], [version for _, version in asked]
            )
        return await asyncio.get_running_loop().run_in_executor(self._thread, _read_rows, asked, rows)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _value(text: str) -> Json:
    tree = parse(text).tree
    return None if tree is None else tree.value


def _read_rows(asked: Sequence[Called], rows: Sequence[Row]) -> dict[Called, _Published | None]:
    found: dict[Called, _Published | None] = dict.fromkeys(asked)
    for row in rows:
        document = from_json(orjson.loads(row["document"]))
        found[row["name"], row["asked_version"]] = _Published(row["version"], document)
    return found


@dataclass(slots=True)
class _Calls:
    """Answers from what is known, and notes what else was asked for."""

    known: Mapping[Called, _Published | None]
    missing: dict[Called, None] = field(default_factory=dict)

    def __call__(self, name: str, version: int | None) -> Document | None:
        if (name, version) not in self.known:
            self.missing[name, version] = None
        found = self.known.get((name, version))
        return None if found is None else found.document

    def versions(self) -> dict[str, int]:
        """Of the workflows that were called without a version."""
        return {
            name: found.version
            for (name, version), found in self.known.items()
            if version is None and found is not None
        }


def _check(
    text: str | bytes,
    registry: Registry,
    functions: Collection[str] | None,
    calls: _Calls | None,
    name: str | None,
) -> Checked:
    loaded = load_document(text, registry=registry, calls=calls, functions=functions)
    problems = [
        *loaded.problems,
        *_name_problems(loaded, name),
        *_deep_problems(loaded.graph, loaded.problems),
    ]
    document = loaded.document
    if document is not None:
        document = pin_calls(document, {} if calls is None else calls.versions())
        document = document if name is None else replace(document, name=name)
        problems += _size_problems(document)
    valid = not any(problem.severity is Severity.ERROR for problem in problems)
    return Checked(problems=problems, value=loaded.value, document=document if valid else None)


def _name_problems(loaded: LoadedDocument, name: str | None) -> list[Problem]:
    declared = loaded.value.get("name") if isinstance(loaded.value, dict) else None
    if loaded.document is None or name is None or declared == name:
        return []
    said = f"the workflow is kept as {name}, as its address says; write `name: {name}`"
    return [Problem(path="name", code=Code.OTHER_NAME, message=said, severity=Severity.WARNING)]


def _deep_problems(graph: Graph | None, told: Sequence[Problem]) -> list[Problem]:
    """What only a document together with all that it calls has: more levels than there may be."""
    if graph is None:
        return []
    known = {(problem.path, problem.code) for problem in told}
    return [
        problem
        for problem in validate(graph)
        if problem.code == GraphCode.TOO_MANY_LEVELS and (problem.path, problem.code) not in known
    ]


def _size_problems(document: Document) -> list[Problem]:
    if not document.calls or len(orjson.dumps(to_json(document))) <= _LARGEST_VERSION:
        return []
    said = f"the document and all that it calls have more than {_LARGEST_VERSION >> 20} MiB; call fewer workflows"
    return [Problem(path="", code=Code.TOO_LARGE, message=said)]
