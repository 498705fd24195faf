"""`riven graph`: a workflow as a picture, or as text from which others draw one."""

import shutil

import click

from riven.cli.app import DONE, INVALID, examples
from riven.cli.diagram import draw_diagram
from riven.cli.dot import dot_text
from riven.cli.files import CalledWorkflows, read_source
from riven.cli.mermaid import mermaid_text
from riven.cli.output import complain, say_bytes
from riven.cli.problems import problem_lines
from riven.cli.svg import svg_text
from riven.core.errors import Severity
from riven.documents.load import load_document
from riven.nodes.registry import Registry

_WRITERS = {"mermaid": mermaid_text, "dot": dot_text, "svg": svg_text}


@click.command(
    epilog=examples(
        "riven graph refund.yaml",
        "riven graph refund.yaml --format svg > refund.svg",
        "riven graph refund.yaml --format dot | dot -Tpng > refund.png",
    )
)
@click.argument("file")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_WRITERS)),
    default="mermaid",
    show_default=True,
    help="Mermaid for Markdown pages, dot for Graphviz, svg a picture.",
)
@click.option(
    "--with", "others", multiple=True, metavar="FILE", help="A workflow that is called. Repeatable."
)
def graph(file: str, form: str, others: tuple[str, ...]) -> int:
    """Draw a workflow: its nodes with types and joins, bodies in boxes, outcomes on the arrows.

    The text goes to standard output. An invalid document is not drawn; its problems are told, exit code 2.
    """
    source = read_source(file)
    calls = CalledWorkflows(source.directory, others)
    loaded = load_document(source.data, registry=Registry.discover(), calls=calls)
    if not loaded.valid or loaded.graph is None or loaded.document is None:
        errors = [problem for problem in loaded.problems if problem.severity is Severity.ERROR]
        complain(
            "\n".join(problem_lines(source.name, source.text, errors, shutil.get_terminal_size().columns))
        )
        return INVALID
    text = _WRITERS[form](draw_diagram(loaded.graph, loaded.document))
    say_bytes(text.encode("utf-8", errors="replace"))
    return DONE
