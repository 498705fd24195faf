"""Text to a document and its graph, with everything that is wrong with it: what every door of riven uses."""

import gc
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from riven.core.errors import Problem, Severity
from riven.core.graph import CONTAINERS, Graph, NodeKind
from riven.core.validation import MAX_NODES, GraphCode
from riven.documents.calls import Called, CallResolver, Calls
from riven.documents.codes import Code
from riven.documents.configs import check_config
from riven.documents.draft import NO_TYPE, Draft, DraftNode, count_nodes, read_draft
from riven.documents.findings import Findings
from riven.documents.graph_problems import check_graph
from riven.documents.input_schema import check_input_schema
from riven.documents.normalise import GraphBuilder, document_of
from riven.documents.parse import parse
from riven.documents.places import Location, shorten, texts
from riven.documents.reads import check_reads
from riven.expressions.templates import has_placeholder
from riven.nodes.registry import Registry
from riven.wire.document import Document, Json

__all__ = ["CallResolver", "LoadedDocument", "load_document"]


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """`document` and `graph` are None when a problem is an error: an invalid document never starts."""

    document: Document | None
    graph: Graph | None
    problems: tuple[Problem, ...]
    value: Json = None
    """What the text says, as JSON; there whenever it could be read, right or wrong."""

    @property
    def valid(self) -> bool:
        return not any(problem.severity is Severity.ERROR for problem in self.problems)


def load_document(
    text: str | bytes,
    *,
    registry: Registry,
    calls: CallResolver | None = None,
    functions: Collection[str] | None = None,
) -> LoadedDocument:
    """Never raises for what the text holds.

    Without `calls`, called workflows are not looked for: the document can be checked, but its graph cannot run. Without
    `functions`, the names of functions are not checked.
    """
    loader = _Loader(registry, functions)
    with _uncollected(len(text)):
        return loader.load(text, Calls(calls, loader.load_called))


@contextmanager
def _uncollected(size: int) -> Iterator[None]:
    """Large documents take twice as long when Python looks through their parts for garbage again and again."""
    if size < _LARGE or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


_LARGE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Loader:
    registry: Registry
    functions: Collection[str] | None

    def load_called(self, text: str | bytes, calls: Calls) -> Called:
        loaded = self.load(text, calls)
        document = loaded.document
        return Called(None if document is None else replace(document, calls={}), loaded.problems)

    def load(self, text: str | bytes, calls: Calls) -> LoadedDocument:
        parsed = parse(text)
        findings = Findings(parsed.tree)
        findings.flaws(parsed.flaws, parsed.lines)
        if parsed.tree is None:
            return LoadedDocument(None, None, findings.problems())
        raw = parsed.tree.value
        if count_nodes(raw) > MAX_NODES:
            said = f"a document has at most {MAX_NODES:,} nodes, bodies included; split it by `call`"
            findings.error(("nodes",), GraphCode.TOO_MANY_NODES, said)
            return LoadedDocument(None, None, findings.problems(), raw)
        draft = read_draft(raw, findings)
        for scope in draft.scope.every():
            for node in scope.nodes.values():
                self._check_node(node, findings)
        if _TEMPLATE_IN_KEY.search(parsed.lines.text):
            _check_keys(draft, findings)
        _check_constants(draft, findings)
        if draft.fields.input is not None:
            check_input_schema(draft.fields.input, findings)
        check_reads(draft, findings)
        calls.check(draft, findings)
        document = document_of(draft, dict(calls.documents))
        graph = GraphBuilder(self.registry, document.calls).build(document)
        check_graph(graph, draft, findings)
        problems = findings.problems()
        valid = not any(problem.severity is Severity.ERROR for problem in problems)
        return LoadedDocument(document if valid else None, graph if valid else None, problems, raw)

    # ---- nodes --------------------------------------------------------------------------------------------------------

    def _check_node(self, node: DraftNode, findings: Findings) -> None:
        name = node.fields.type
        node.type = self.registry.get(name) if name != NO_TYPE else None
        if node.type is None:
            if name != NO_TYPE:
                why = self.registry.fault(name) or (
                    f"there is no node type {shorten(name, 40)!r}{findings.hint(name, self.registry.names(), _OTHER_TYPES)}"
                )
                findings.error((*node.location, "type"), Code.UNKNOWN_TYPE, why)
            return
        _read_case_names(node)
        check_config(node, node.type, findings)
        _check_settings(node, findings)
        if name == "python" and self.functions is not None:
            self._check_function(node, findings)

    def _check_function(self, node: DraftNode, findings: Findings) -> None:
        name = node.config.get("function")
        if not isinstance(name, str) or has_placeholder(name) or name in (self.functions or ()):
            return
        said = f"there is no function {shorten(name, 40)!r}{findings.hint(name, self.functions or ())}"
        findings.error((*node.location, "with", "function"), Code.UNKNOWN_FUNCTION, said)


def _check_constants(draft: Draft, findings: Findings) -> None:
    for place, text in texts(draft.fields.vars or {}):
        if has_placeholder(text):
            said = "`vars` are constants; build this value in a `set` node, where templates can stand"
            findings.error(("vars", *place), Code.TEMPLATE_NOT_ALLOWED, said)


_TEMPLATE_IN_KEY: Final = re.compile(r"\{\{[^{}\n]{0,4096}\}\}[^\n:,]{0,256}[\"']?\s*:")


def _check_keys(draft: Draft, findings: Findings) -> None:
    """Names of fields are not resolved, which somebody who writes a template there does not expect."""
    for scope in draft.scope.every():
        for node in scope.nodes.values():
            todo: list[tuple[Location, Json]] = [((*node.location, "with"), node.config)]
            while todo:
                place, each = todo.pop()
                if isinstance(each, dict):
                    todo += [((*place, key), inner) for key, inner in each.items()]
                elif isinstance(each, list):
                    todo += [((*place, index), inner) for index, inner in enumerate(each)]
                if place and isinstance(place[-1], str) and has_placeholder(place[-1]):
                    said = "the name of a field is no template and stays as it is; templates stand in values"
                    findings.warning(place, Code.TEMPLATE_NOT_ALLOWED, said)


_OTHER_TYPES: Final = {
    "http": "http_request",
    "request": "http_request",
    "https": "http_request",
    "if": "condition",
    "branch": "condition",
    "choice": "switch",
    "case": "switch",
    "foreach": "for_each",
    "map": "for_each",
    "loop": "repeat",
    "while": "repeat",
    "until": "repeat",
    "subworkflow": "call",
    "workflow": "call",
    "function": "python",
    "script": "python",
    "code": "python",
    "sleep": "wait",
    "delay": "wait",
    "timer": "wait",
    "print": "log",
    "echo": "set",
    "error": "fail",
    "pass": "noop",
    "nop": "noop",
    "manual": "approval",
    "event": "signal",
}


def _read_case_names(node: DraftNode) -> None:
    """`name: true` of a switch's case is the label "true", as it is on edges."""
    cases = node.config.get("cases")
    if node.fields.type == "switch" and isinstance(cases, list):
        named = [
            {**case, "name": str(case["name"]).lower()}
            if isinstance(case, dict) and isinstance(case.get("name"), bool)
            else case
            for case in cases
        ]
        node.config = {**node.config, "cases": named}


def _check_settings(node: DraftNode, findings: Findings) -> None:
    """Settings that do not go with the kind of the node."""
    assert node.type is not None  # noqa: S101 - the caller has looked
    kind, name, fields = node.type.kind, node.type.type, node.fields
    if fields.retry is not None and kind is not NodeKind.ACTION:
        inner = "; retry the nodes in its body" if kind in CONTAINERS else ""
        said = f"{name} is not retried{inner}; take `retry` away"
        findings.error((*node.location, "retry"), Code.SETTING_NOT_ALLOWED, said)
    elif fields.retry is not None and node.type.pure:
        said = f"{name} is never retried, so `retry` has no effect; take it away"
        findings.warning((*node.location, "retry"), Code.UNUSED_SETTING, said)
    if fields.timeout is not None and kind in (NodeKind.WAIT, NodeKind.SIGNAL):
        instead = (
            "set `timeout` in its `with`" if kind is NodeKind.SIGNAL else "it ends by its `for` or `until`"
        )
        said = f"{name} has no timeout for attempts; {instead}"
        findings.error((*node.location, "timeout"), Code.SETTING_NOT_ALLOWED, said)
    if node.body is not None and kind not in (NodeKind.FOR_EACH, NodeKind.REPEAT):
        said = f"{name} has no body; for_each and repeat have one"
        findings.error((*node.location, "body"), Code.BODY_NOT_ALLOWED, said, at_key=True)
