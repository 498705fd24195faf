"""Everything that a run needs before it starts, checked: document, functions, input, signals, decisions, secrets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from riven.cli.arguments import (
    CallError,
    parse_decisions,
    parse_input,
    parse_secrets,
    parse_signals,
    parse_timeout,
)
from riven.cli.files import STDIN, CalledWorkflows, Source, read_source
from riven.cli.functions import load_functions
from riven.cli.json_files import read_json
from riven.cli.lettering import printable
from riven.core.errors import Problem
from riven.core.graph import Graph, NodeKind
from riven.core.ids import ROOT_PATH, NodePath, node_path
from riven.documents.input import check_input
from riven.documents.load import LoadedDocument, load_document
from riven.nodes.decisions import Decision
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry
from riven.wire.document import BodyDocument, Document, Json

_NUMBERS = re.compile(r"\[\d+\]")
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCall:
    """What was written on the command line."""

    file: str
    input: Sequence[str] = ()
    functions: Sequence[str] = ()
    signals: Sequence[str] = ()
    decisions: Sequence[str] = ()
    secrets: Sequence[str] = ()
    others: Sequence[str] = ()
    timeout: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    loaded: LoadedDocument
    document: Document
    graph: Graph
    source: Source
    registry: Registry
    functions: Functions
    input: Json
    signals: Sequence[tuple[str, Json]]
    decisions: Mapping[str, Decision]
    secrets: Mapping[str, str]
    timeout: float | None
    """Seconds."""


class RefusedRunError(Exception):
    """The document or its input is not valid. `source` is None for problems of the input."""

    def __init__(self, problems: Sequence[Problem], source: Source | None) -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__(f"{len(self.problems)} problem(s)")


def prepare_run(call: RunCall) -> PreparedRun:
    """Raises CallError for what is written wrongly, RefusedRunError for what is not valid."""
    timeout = parse_timeout(call.timeout)
    signals, decisions = parse_signals(call.signals), parse_decisions(call.decisions)
    secrets = parse_secrets(call.secrets)
    if call.file == STDIN and f"@{STDIN}" in call.input:
        raise CallError("the document and the input cannot both come from standard input")
    given = parse_input(call.input, read_json)
    functions = load_functions(call.functions)
    registry = Registry.discover()
    source = read_source(call.file)
    calls = CalledWorkflows(source.directory, call.others)
    loaded = load_document(source.data, registry=registry, calls=calls, functions=functions.names())
    if not loaded.valid or loaded.document is None or loaded.graph is None:
        raise RefusedRunError(loaded.problems, source)
    checked, problems = check_input(loaded.document, given)
    if problems:
        raise RefusedRunError(problems, None)
    _check_decisions(decisions, loaded.graph)
    _check_signals(signals, loaded.document)
    return PreparedRun(
        loaded=loaded,
        document=loaded.document,
        graph=loaded.graph,
        source=source,
        registry=registry,
        functions=functions,
        input=checked,
        signals=signals,
        decisions=decisions,
        secrets=secrets,
        timeout=None if timeout is None else timeout / 1_000,
    )


def _check_decisions(decisions: Mapping[str, Decision], graph: Graph) -> None:
    """A decision for a node that is no approval would wait for nothing, and nobody would be told."""
    approvals = [path for path, type in _nodes(graph, ROOT_PATH) if type == "approval"]
    for path in decisions:
        if _NUMBERS.sub("", path) not in approvals:
            raise CallError(
                f"--approve: there is no approval '{printable(path)}'; {_there_are(approvals, 'approval')}"
            )


def _check_signals(signals: Sequence[tuple[str, Json]], document: Document) -> None:
    names = list(dict.fromkeys(_signal_names(document)))
    if None in names:
        return  # a name made by a template: it may be any
    known = [name for name in names if name is not None]
    for name, _ in signals:
        if name not in known:
            raise CallError(f"--signal: nothing waits for '{printable(name)}'; {_there_are(known, 'signal')}")


def _nodes(graph: Graph, scope: NodePath) -> Iterator[tuple[str, str]]:
    """Path without numbers, and type, of every node of every scope."""
    for node in graph.nodes:
        path = node_path(scope, node.key)
        yield path, node.type
        if node.body is not None:
            yield from _nodes(node.body, path)


def _signal_names(document: Document | BodyDocument) -> Iterator[str | None]:
    for node in document.nodes.values():
        if node.type == NodeKind.SIGNAL:
            name = node.config.get("name")
            yield name if isinstance(name, str) and "{{" not in name else None
        if node.body is not None:
            yield from _signal_names(node.body)
    if isinstance(document, Document):
        for called in document.calls.values():
            yield from _signal_names(called)


def _there_are(names: Sequence[str], what: str) -> str:
    if not names:
        return f"the document has no {what}"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"the document has {', '.join(names[:_MOST_NAMES])}{more}"
