"""The workflows that a document calls: found, loaded and checked, each once, recursion refused."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from riven.core.errors import Problem, Severity
from riven.core.graph import NodeKind
from riven.core.validation import MAX_LEVELS, GraphCode
from riven.documents.codes import Code
from riven.documents.draft import Draft, DraftNode
from riven.documents.findings import Findings
from riven.documents.input import check_input
from riven.documents.places import Location, shorten, texts
from riven.documents.schema import WORKFLOW_NAME
from riven.expressions.templates import has_placeholder
from riven.wire.document import Document, Json, call_key

CallResolver: TypeAlias = Callable[[str, int | None], str | bytes | Document | None]
"""Name and version of a workflow to its text, or to a version that was published and so is right, with the documents
that it calls inside; None when there is none."""

_SHOWN: Final = 20
"""Problems of one called workflow that are told where it is called."""


@dataclass(frozen=True, slots=True)
class Called:
    document: Document | None
    problems: tuple[Problem, ...]


LoadCalled: TypeAlias = Callable[[str | bytes, "Calls"], Called]


@dataclass(slots=True)
class Calls:
    """What is known of called workflows while one document and all that it calls are loaded."""

    resolver: CallResolver | None
    load: LoadCalled
    chain: tuple[str, ...] = ()
    """The workflows that are being loaded, outermost first."""
    documents: dict[str, Document] = field(default_factory=dict)
    """Those that were found and are right, by `call_key`."""
    _met: set[str] = field(default_factory=set)

    def check(self, draft: Draft, findings: Findings) -> None:
        chain = (*self.chain, draft.fields.name) if not self.chain else self.chain
        for scope in draft.scope.every():
            for node in scope.nodes.values():
                if node.type is not None and node.type.kind is NodeKind.CALL:
                    self._check_call(node, chain, findings)

    def _check_call(self, node: DraftNode, chain: tuple[str, ...], findings: Findings) -> None:
        name, version = node.config.get("workflow"), node.config.get("version")
        is_version = version is None or (isinstance(version, int) and not isinstance(version, bool))
        if not isinstance(name, str) or not WORKFLOW_NAME.fullmatch(name) or not is_version:
            return  # the configuration says what is wrong with it
        location = (*node.location, "with", "workflow")
        if name in chain:
            way = " → ".join([*chain[chain.index(name) :], name])
            said = f"workflows cannot call each other in a circle: {way}; `repeat` does something again"
            findings.error(location, Code.CALL_RECURSION, said)
            return
        if self.resolver is None:
            return
        key = call_key(name, version)
        if key not in self._met:
            self._met.add(key)
            self._load(name, version, chain, location, findings)
        called = self.documents.get(key)
        if called is not None:
            _check_constant_input(called, node, findings)

    def _load(
        self, name: str, version: int | None, chain: tuple[str, ...], location: Location, findings: Findings
    ) -> None:
        if len(chain) > MAX_LEVELS:
            said = f"calls go at most {MAX_LEVELS} levels deep"
            findings.error(location, GraphCode.TOO_MANY_LEVELS, said)
            return
        assert self.resolver is not None  # noqa: S101 - `_check_call` has asked
        text = self.resolver(name, version)
        if text is None:
            which = name if version is None else f"{name}, version {version}"
            said = f"there is no workflow {which}; give its file, or mend the name"
            findings.error(location, Code.UNKNOWN_WORKFLOW, said)
            return
        if isinstance(text, Document):
            self._take(text, call_key(name, version), (*chain, name), location, findings)
            return
        inner = Calls(self.resolver, self.load, (*chain, name), self.documents, self._met)
        called = self.load(text, inner)
        _tell(called.problems, name, location, findings)
        if called.document is not None:
            self.documents[call_key(name, version)] = called.document

    def _take(
        self, published: Document, key: str, chain: tuple[str, ...], location: Location, findings: Findings
    ) -> None:
        """A version that was published. It calls what it called then, but nothing that calls it now."""
        names = [inner.partition("@")[0] for inner in published.calls]
        if (again := next((name for name in names if name in chain), None)) is not None:
            way = " → ".join([*chain[chain.index(again) :], again])
            said = f"workflows cannot call each other in a circle: {way}; `repeat` does something again"
            findings.error(location, Code.CALL_RECURSION, said)
            return
        self.documents[key] = replace(published, calls={})
        self.documents.update({inner: replace(called, calls={}) for inner, called in published.calls.items()})


def _tell(problems: tuple[Problem, ...], name: str, location: Location, findings: Findings) -> None:
    """Its problems are told where it is called, with their own place in the words."""
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    for problem in errors[:_SHOWN]:
        place = f"{problem.path}, " if problem.path else ""
        said = f"in the workflow {name}: {place}line {problem.line}: {problem.message}"
        findings.error(location, problem.code, said)
    if len(errors) > _SHOWN:
        said = f"in the workflow {name}: and {len(errors) - _SHOWN} more; validate it alone"
        findings.error(location, Code.TOO_MANY_PROBLEMS, said)


def _check_constant_input(called: Document, node: DraftNode, findings: Findings) -> None:
    """What is written out can be checked before anything runs; what templates make, only then."""
    value: Json = node.config.get("input", {})
    if not isinstance(value, dict) or any(has_placeholder(text) for _, text in texts(value)):
        return
    for problem in check_input(called, value)[1]:
        said = (
            f"the workflow {called.name} refuses its input: {problem.path}: {shorten(problem.message, 200)}"
        )
        findings.error((*node.location, "with", "input"), problem.code, said)
