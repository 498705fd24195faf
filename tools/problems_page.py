"""The reference of problems, made from the codes that validation uses and what it says of each."""

import inspect
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import get_args

from riven.core.validation import GraphCode
from riven.documents.codes import MEANINGS, Code
from riven.expressions import errors
from riven.expressions.errors import ExpressionCode

INTRODUCTION = """\
# Problems

Everything that is wrong with a document is told at once, before anything runs: by `riven validate`, by `riven run` and,
once there is a server, when a workflow is saved, published or started. A problem is
`{path, line, column, code, severity, message}`:

- `path` names the place, as in `nodes.order.with.url` or `edges[2].to`; it is empty for the document as a whole. A key
  that would be read wrongly stands in brackets: `with.headers["a.b"]`.
- `line` and `column` count from 1. They are those of the value; of a whole mapping or list, of its key; of a field that
  is missing, of the node that lacks it; of something that stands twice, of the second one; of a cycle, of its first edge.
- `code` is stable; tools may rely on it. The tables below list them all.
- `severity` is `error` or `warning`. A document with an error never starts and never becomes a version; warnings hold
  nothing up.
- `message` says what to do.

Problems come in the order of the text. What only follows from another problem is left out: an unknown type is one
problem, whatever its configuration. At most 1,000 are told.
"""

MAYBE = """\
## When a step may have been skipped

`maybe_skipped` warns where an expression reads `steps.x.output` without `?`, although `x` need not have completed by
then. What must have completed when a node runs follows from its edges:

- an edge that is taken says that its source completed (with `failure`, `done` and `always`, and with
  `continueOnError`, only that it ended), and so did everything that had to complete for the source to run;
- with the join `all`, every edge is taken; with `none_failed`, one is, and with it those whose sources always run, or
  run whenever that one does; with `any`, only one is; with `all_done`, those whose sources always run;
- a node runs always if it has no `when` and no edge into it can stay untaken: after a condition, that is a node to which
  every outcome leads.

So a plain chain may read all of itself, a node behind a merge what stands before the condition, and the branches only
with `?`: `steps.?yes.?output.orValue(...)`. The `output` may read plainly what completes whenever the execution does.
"""

GROUPS = {
    Code.TOO_LARGE: "The text",
    Code.UNKNOWN_FIELD: "Fields",
    Code.UNKNOWN_TYPE: "Nodes",
    Code.UNKNOWN_STEP: "What expressions read",
    Code.UNKNOWN_WORKFLOW: "Calls, input and what is stored",
}
"""Headings, by the code with which each group begins."""


def problems_page() -> str:
    lines = [INTRODUCTION]
    starts = [*GROUPS, None]
    codes = list(Code)
    for first, after in pairwise(starts):
        group = codes[codes.index(first) : None if after is None else codes.index(after)]
        lines += [f"## {GROUPS[first]}", "", *table(group), ""]
    lines += ["## Edges, joins and bodies", "", *table(GraphCode), ""]
    lines += ["## Expressions", "", *expression_table(), "", MAYBE]
    return "\n".join(lines).rstrip() + "\n"


def table(codes: Iterable[str]) -> Iterator[str]:
    yield "| code | what is wrong | what to do |"
    yield "|---|---|---|"
    for code in codes:
        meaning, remedy = MEANINGS[code]
        yield f"| `{code}` | {escaped(meaning)} | {escaped(remedy)} |"


def expression_table() -> Iterator[str]:
    """Most of them are found before anything runs; those that need values, when they come up."""
    said = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", inspect.getdoc(errors) or "", re.MULTILINE))
    yield "| code | what is wrong |"
    yield "|---|---|"
    for code in get_args(ExpressionCode):
        yield f"| `{code}` | {said[code]} |"


def escaped(text: str) -> str:
    return text.replace("|", "\\|")
