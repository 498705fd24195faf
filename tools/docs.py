"""Writes the generated parts of the documentation; with --check only says which of them are out of date.

A generated page is a whole file; a generated section stands between `<!-- generated: name -->` and
`<!-- /generated -->` in a page that is otherwise written by hand.
"""

import argparse
import ast
import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from pathlib import Path

import click
from client_page import client_methods, enqueue_signature
from http_api_page import http_api_page
from http_problems_page import http_problems_page
from node_types_page import node_types_page
from problems_page import problems_page
from settings_page import settings_page
from tables_page import tables_page
from telemetry_pages import log_events_page, metrics_page

from riven.cli.app import run_app
from riven.core.graph import ALWAYS, DONE, FAILURE, Join, JoinRule
from riven.core.joins import DeadReason, End, Tally, decide, resolve_edge, runs_early
from riven.core.messages import NodeStatus, SkipReason
from riven.core.states import TERMINAL, TRANSITIONS
from riven.main.command import COMMANDS, LOADERS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "riven"


def module_map() -> str:
    """Every package with its rule, every module with the first sentence of its docstring."""
    lines = ["| module | holds |", "|---|---|"]
    for package in sorted(path.parent for path in SOURCE.rglob("__init__.py")):
        name = package.relative_to(SOURCE).as_posix()
        if name != ".":
            lines.append(f"| **`{name}/`** | *{summary(package / '__init__.py')}* |")
        modules = sorted(path for path in package.glob("*.py") if path.name != "__init__.py")
        lines += [f"| `{path.relative_to(SOURCE).as_posix()}` | {summary(path)} |" for path in modules]
    return "\n".join(lines)


def summary(module: Path) -> str:
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def edge_table() -> str:
    """Whether an edge is taken, for every outcome it can name and every way in which its source can end."""
    ends = {
        "completed by `success`": End(NodeStatus.COMPLETED, "success"),
        "completed by `true`": End(NodeStatus.COMPLETED, "true"),
        "failed, unhandled": End(NodeStatus.FAILED),
        "failed, handled": End(NodeStatus.FAILED, handled=True),
        "failed, with `continueOnError`": End(NodeStatus.FAILED, handled=True, continues=True),
        "skipped": End(NodeStatus.SKIPPED, skip_reason=SkipReason.NOT_CHOSEN),
        "skipped by `upstream_failed`": End(NodeStatus.SKIPPED, skip_reason=SkipReason.UPSTREAM_FAILED),
        "canceled": End(NodeStatus.CANCELED),
    }
    outcomes = [None, "success", "true", FAILURE, DONE, ALWAYS]

    def cell(outcome: str | None, end: End) -> str:
        if end == ends["failed, unhandled"] and outcome in {FAILURE, DONE, ALWAYS}:
            return "-"  # such an edge handles the failure
        reason = resolve_edge(outcome, end)
        return "**taken**" if reason is None else f"dead: {reason}"

    head = ["the source", *("no outcome" if outcome is None else f"`{outcome}`" for outcome in outcomes)]
    return table(head, ([name, *(cell(outcome, end) for outcome in outcomes)] for name, end in ends.items()))


def join_table() -> str:
    """What two incoming edges mean for their node, under every join, whichever of the two came first."""
    joins = {
        "`none_failed`": Join(),
        "`all`": Join(JoinRule.ALL),
        "`any`": Join(JoinRule.ANY),
        "`all_done`": Join(JoinRule.ALL_DONE),
        "`{atLeast: 1}`": Join(JoinRule.AT_LEAST, 1),
        "`{atLeast: 2}`": Join(JoinRule.AT_LEAST, 2),
    }
    states = [None, DeadReason.NOT_CHOSEN, DeadReason.SKIPPED, DeadReason.FAILED]

    def cell(join: Join, edges: tuple[DeadReason | None, ...]) -> str:
        tally = Tally()
        for reason in edges:
            if reason is not None:
                tally.add(reason)
        if runs_early(join, edges.count(None)):
            return "**runs**, at once"
        reason = decide(join, len(edges), tally)
        return "**runs**" if reason is None else reason

    def name(state: DeadReason | None) -> str:
        return "taken" if state is None else f"dead: {state}"

    rows = (
        [name(one), name(other), *(cell(join, (one, other)) for join in joins.values())]
        for one, other in combinations_with_replacement(states, 2)
    )
    return table(["one edge", "the other", *joins], rows)


def state_diagram() -> str:
    """The table of transitions as a picture; moves that stay in their phase are gathered on one arrow."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (phase, event), target in TRANSITIONS.items():
        arrows.setdefault((phase, target), []).append(event.__name__)
    lines = [f"    {phase} --> {target}: {', '.join(events)}" for (phase, target), events in arrows.items()]
    ends = [f"    {phase} --> [*]" for phase in sorted(TERMINAL)]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> INITIALIZING", *lines, *ends, "```"])


def command_line() -> str:
    """What `--help` says of every command, those of groups included."""
    parts = [help_text()]
    for name, entry in COMMANDS.items():
        parts.append(f"## riven {name}\n\n{help_text(name)}")
        command = entry.load()
        inner = sorted(command.commands) if isinstance(command, click.Group) else ()
        parts += [f"### riven {name} {each}\n\n{help_text(name, each)}" for each in inner]
    return "\n\n".join(parts)


def help_text(*command: str) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        run_app([*command, "--help"], COMMANDS, LOADERS)
    return f"```text\n{told.getvalue().strip()}\n```"


SECTIONS = {
    "ARCHITECTURE.md": {"modules": module_map},
    "docs/reference/command-line.md": {"commands": command_line},
    "docs/reference/joins.md": {"edges": edge_table, "joins": join_table},
    "docs/reference/python-client.md": {"methods": client_methods, "enqueue": enqueue_signature},
    "docs/reference/states.md": {"phases": state_diagram},
}
PAGES = {
    "docs/reference/http-api.md": http_api_page,
    "docs/reference/http-problems.md": http_problems_page,
    "docs/reference/log-events.md": log_events_page,
    "docs/reference/metrics.md": metrics_page,
    "docs/reference/node-types.md": node_types_page,
    "docs/reference/problems.md": problems_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/tables.md": tables_page,
}


def generated() -> Iterator[tuple[Path, str]]:
    for name, write in PAGES.items():
        yield ROOT / name, write()
    for name, sections in SECTIONS.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        for section, write in sections.items():
            text = replace_section(text, section, write())
        yield path, text


def replace_section(text: str, name: str, content: str) -> str:
    opening, closing = f"<!-- generated: {name} -->", "<!-- /generated -->"
    pattern = re.compile(f"{re.escape(opening)}.*?{re.escape(closing)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        sys.exit(f"a page lacks its one section {opening}")
    return pattern.sub(lambda _: f"{opening}\n{content}\n{closing}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail if something is out of date"
    )
    check = parser.parse_args().check
    os.environ["COLUMNS"] = "100"  # noqa: TID251 - help is the same wherever it is written
    stale = [
        (path, text) for path, text in generated() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path, text in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if check and stale:
        sys.exit("run `make docs` and commit what it writes")


if __name__ == "__main__":
    main()
