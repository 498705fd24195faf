"""`riven validate`: everything that is wrong with documents, at once, with the lines it is about."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import click
import orjson

from riven.cli.app import DONE, INVALID, examples, loaders
from riven.cli.arguments import CallError
from riven.cli.files import CalledWorkflows, Source, read_source
from riven.cli.output import say, say_bytes
from riven.cli.problems import errors_of, problem_json, problem_lines
from riven.cli.quantities import count_words
from riven.core.errors import Problem
from riven.documents.load import load_document
from riven.nodes.registry import Registry


@dataclass(frozen=True, slots=True)
class Checked:
    file: str
    source: Source | None
    problems: tuple[Problem, ...]

    @property
    def valid(self) -> bool:
        return errors_of(self.problems) == 0


@click.command(
    epilog=examples(
        "riven validate refund.yaml",
        "riven validate --json workflows/*.yaml",
        "cat refund.yaml | riven validate -",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print [{file, valid, problems}] instead of text.")
@click.option(
    "--functions",
    "modules",
    multiple=True,
    metavar="FILE_OR_MODULE",
    help="Know these functions, and refuse unknown ones. Repeatable.",
)
@click.option(
    "--with", "others", multiple=True, metavar="FILE", help="A workflow that is called. Repeatable."
)
def validate(
    *, files: tuple[str, ...], as_json: bool, modules: tuple[str, ...], others: tuple[str, ...]
) -> int:
    """Tell everything that is wrong with documents, YAML or JSON; `-` is standard input.

    A called workflow is looked for among --with and as <name>.yaml beside the caller. Warnings do not make a document
    invalid. Exit code 0: all are valid; 2: one is not.
    """
    functions = loaders().functions(modules).names() if modules else None
    registry = Registry.discover()
    checked = [_check(file, registry, functions, others) for file in files]
    if as_json:
        _print_json(checked)
    else:
        _print_text(checked)
    return DONE if all(each.valid for each in checked) else INVALID


def _check(
    file: str, registry: Registry, functions: Collection[str] | None, others: Sequence[str]
) -> Checked:
    try:
        source = read_source(file)
        calls = CalledWorkflows(source.directory, others)
    except CallError as error:
        return Checked(file, None, (Problem(path="", code=error.code, message=str(error)),))
    loaded = load_document(source.data, registry=registry, calls=calls, functions=functions)
    return Checked(file, source, loaded.problems)


def _print_json(checked: Sequence[Checked]) -> None:
    answer = [
        {
            "file": each.file,
            "valid": each.valid,
            "problems": [problem_json(problem) for problem in each.problems],
        }
        for each in checked
    ]
    say_bytes(orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _print_text(checked: Sequence[Checked]) -> None:
    width = shutil.get_terminal_size().columns
    for each in checked:
        lines: list[str] = []
        if each.source is None:
            lines += [
                click.style("error: ", fg="red", bold=True) + problem.message for problem in each.problems
            ]
        else:
            lines += problem_lines(each.source.name, each.source.text, each.problems, width)
        if each.valid:
            lines.append(click.style("valid: ", fg="green", bold=True) + each.file)
        say("\n".join(lines))
    say(_summary(checked))


def _summary(checked: Sequence[Checked]) -> str:
    errors = sum(errors_of(each.problems) for each in checked)
    warnings = sum(len(each.problems) for each in checked) - errors
    files = count_words(len(checked), "document")
    if not errors and not warnings:
        return f"{files}, no problems"
    return f"{files}, {count_words(errors, 'error')}, {count_words(warnings, 'warning')}"
