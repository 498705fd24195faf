"""`riven apply`: documents become workflows of a workspace, and versions of them."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import click

from riven.cli.app import DONE, INVALID, examples
from riven.cli.arguments import CallError
from riven.cli.files import Source, read_source
from riven.cli.lettering import printable
from riven.cli.output import complain, say
from riven.cli.problems import problem_json, problem_lines
from riven.cli.server import (
    Server,
    find_workspace,
    json_option,
    print_json,
    server_options,
    talk,
    workspace_option,
)
from riven.client.errors import RefusedError
from riven.client.http import Client
from riven.core.errors import Problem, Severity
from riven.documents.load import load_document
from riven.documents.parse import parse
from riven.nodes.registry import Registry
from riven.wire.document import Json

_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class Given:
    """A file, and the name of the workflow that it is."""

    file: str
    source: Source
    name: str | None
    calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class Applied:
    given: Given
    problems: tuple[Problem, ...]
    version: int | None = None
    """None: it was saved as a draft, or not at all."""
    published: bool = False

    @property
    def valid(self) -> bool:
        return not any(problem.severity is Severity.ERROR for problem in self.problems)


@click.command(
    epilog=examples(
        "riven apply refund.yaml",
        "riven apply workflows/*.yaml --workspace acme",
        "riven apply refund.yaml --draft",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--draft", is_flag=True, help="Save it, right or wrong, and publish nothing.")
@workspace_option
@json_option
@server_options
def apply(
    server: Server, *, files: tuple[str, ...], draft: bool, workspace: str | None, as_json: bool
) -> int:
    """Save documents, YAML or JSON, as workflows, and publish them: the next start runs the new version.

    Their names are those in the documents. What has not changed keeps its version. A workflow that others of the files
    call is published before them. `-` is standard input. Exit code 0: all done; 2: a document is not valid, all that is
    wrong with it is told.
    """
    given = [_read(file) for file in files]

    async def conversation(client: Client) -> list[Applied]:
        into = await find_workspace(client, server, workspace)
        return [await _apply(client, into, each, publish=not draft) for each in _called_first(given)]

    applied = talk(server, conversation)
    if as_json:
        print_json([_json(each) for each in applied])
    else:
        for each in applied:
            _tell(each)
    return DONE if all(each.valid or (draft and each.given.name) for each in applied) else INVALID


async def _apply(client: Client, workspace_id: str, given: Given, *, publish: bool) -> Applied:
    if given.name is None:  # there is no address to save it at: what is wrong is said here
        return Applied(given, load_document(given.source.data, registry=Registry.discover()).problems)
    try:
        saved = await client.put_workflow(workspace_id, given.name, given.source.data)
        problems = tuple(_problem(each) for each in saved["problems"])
        if not publish or not Applied(given, problems).valid:
            return Applied(given, problems)
        done = await client.publish(workspace_id, given.name)
    except RefusedError as refused:
        if refused.status != 422 or not refused.errors:
            raise
        return Applied(
            given, tuple(Problem(path=e.path, code=e.code, message=e.message) for e in refused.errors)
        )
    return Applied(given, problems, done["version"], done["published"])


def _tell(applied: Applied) -> None:
    source = applied.given.source
    for line in problem_lines(source.name, source.text, applied.problems, shutil.get_terminal_size().columns):
        complain(line)
    match applied:
        case Applied(version=int() as version, published=published):
            outcome = f"version {version} published" if published else f"unchanged, version {version}"
        case Applied(given=Given(name=None)):
            outcome = "not saved"
        case _:
            outcome = "saved as a draft" if applied.valid else "saved as a draft, not published"
    name = applied.given.name or applied.given.file
    say(f"{click.style(name, bold=True)}  {outcome}")


def _json(applied: Applied) -> dict[str, Json]:
    return {
        "file": applied.given.file,
        "workflow": applied.given.name,
        "valid": applied.valid,
        "version": applied.version,
        "published": applied.published,
        "problems": [problem_json(problem) for problem in applied.problems],
    }


def _read(file: str) -> Given:
    source = read_source(file)
    tree = parse(source.data).tree
    value: Json = None if tree is None else tree.value
    name = value.get("name") if isinstance(value, dict) else None
    return Given(file, source, name if isinstance(name, str) and name else None, frozenset(_calls(value)))


def _calls(value: Json, depth: int = 0) -> Iterator[str]:
    """Names of the workflows that a document, or a body, calls; whatever shape it has."""
    nodes = value.get("nodes") if isinstance(value, dict) and depth < _DEEPEST else None
    for node in nodes.values() if isinstance(nodes, dict) else ():
        if not isinstance(node, dict):
            continue
        config = node.get("with")
        called = config.get("workflow") if node.get("type") == "call" and isinstance(config, dict) else None
        if isinstance(called, str):
            yield called
        yield from _calls(node.get("body"), depth + 1)


def _called_first(given: Sequence[Given]) -> list[Given]:
    by_name: dict[str, Given] = {}
    for each in given:
        if each.name is None:
            continue
        if (first := by_name.setdefault(each.name, each)) is not each:
            raise CallError(
                f"{first.file} and {each.file} are both called '{printable(each.name)}'; rename one"
            )
    sorter = TopologicalSorter({name: sorted(each.calls & by_name.keys()) for name, each in by_name.items()})
    try:
        order = list(sorter.static_order())
    except CycleError:
        order = list(by_name)  # the server says what is wrong with it
    return [*(each for each in given if each.name is None), *(by_name[name] for name in order)]


def _problem(told: dict[str, Json]) -> Problem:
    return Problem(
        path=str(told["path"]),
        code=str(told["code"]),
        message=str(told["message"]),
        severity=Severity(told["severity"]),
        line=told["line"],
        column=told["column"],
    )
