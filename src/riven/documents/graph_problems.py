"""What `core.validation` finds, told where the document says it: edges where they are written, `needs` included."""

import re
from typing import Final

from riven.core.errors import Problem, Severity
from riven.core.graph import Graph
from riven.core.validation import GraphCode, validate
from riven.documents.draft import Draft, DraftScope
from riven.documents.findings import Findings
from riven.documents.normalise import labels_of
from riven.documents.places import Location, shorten

_STEP: Final = re.compile(r"nodes\.([^.\[\]]+)\.body\.")
_EDGE: Final = re.compile(r"edges\[(\d+)\](?:\.(from|to|outcome))?")
_NODE: Final = re.compile(r"nodes\.([^.\[\]]+)(.*)")
_REST: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_ABOUT_ENDS: Final = frozenset({GraphCode.IMPOSSIBLE_JOIN, GraphCode.UNUSED_JOIN})


def check_graph(graph: Graph, draft: Draft, findings: Findings) -> None:
    for problem in validate(graph):
        code = GraphCode(problem.code)
        if code in (GraphCode.UNRESOLVED_CALL, GraphCode.RESERVED_LABEL, GraphCode.DUPLICATE_LABEL):
            continue  # told by what looks for calls and at cases
        scope, rest = _scope_of(problem.path, draft.scope)
        if (called := _STEP.match(rest)) is not None:
            if code is GraphCode.TOO_MANY_LEVELS:
                location = (*scope.nodes[called[1]].location, "with", "workflow")
                findings.error(
                    location, code, f"{problem.message} (it is in the workflow that is called here)"
                )
            continue  # other problems of a called workflow were told with it
        if edge := _EDGE.fullmatch(rest):
            _tell_of_edge(problem, scope, int(edge[1]), edge[2], findings)
        elif node := _NODE.fullmatch(rest):
            _tell_of_node(problem, scope, node[1], node[2], findings)
        else:
            findings.error((*scope.location, *rest.split(".")), code, problem.message)


def _scope_of(path: str, scope: DraftScope) -> tuple[DraftScope, str]:
    """The innermost scope of this document on the way, and the rest of the path."""
    while (step := _STEP.match(path)) is not None:
        body = scope.nodes[step[1]].body
        if body is None:
            break
        scope, path = body, path[step.end() :]
    return scope, path


def _tell_of_edge(
    problem: Problem, scope: DraftScope, index: int, end: str | None, findings: Findings
) -> None:
    edge = scope.edges[index]
    message = problem.message
    if problem.code == GraphCode.UNKNOWN_NODE:
        key = edge.source if end == "from" else edge.target
        if key in scope.nodes:
            return  # its key is no key, which was told
        message = f"there is no node {shorten(key, 40)!r} here{findings.hint(key, scope.nodes)}"
    elif problem.code == GraphCode.UNKNOWN_OUTCOME and edge.outcome is not None:
        source = scope.nodes[edge.source]
        if source.type is not None:
            message += findings.hint(edge.outcome, labels_of(source.type, source.config))
    findings.error(edge.location if end is None else edge.place(end), problem.code, message)


def _tell_of_node(problem: Problem, scope: DraftScope, key: str, rest: str, findings: Findings) -> None:
    node = scope.nodes[key]
    if problem.code in _ABOUT_ENDS and any(
        edge.target == key and (edge.source not in scope.nodes or scope.nodes[edge.source].type is None)
        for edge in scope.edges
    ):
        return  # it depends on an edge or a node that is wrong itself
    inside: Location = tuple(int(number) if number else name for name, number in _REST.findall(rest))
    if problem.severity is Severity.WARNING:
        findings.warning((*node.location, *inside), problem.code, problem.message)
    else:
        findings.error((*node.location, *inside), problem.code, problem.message)
