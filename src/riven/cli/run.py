"""`riven run`: one run of a document here and now, without a server."""

import asyncio
import contextlib
import shutil
import sys
from collections.abc import Mapping
from typing import Any, cast

import click

from riven.cli.app import DONE, FAILED, INVALID, examples, loaders
from riven.cli.arguments import CallError
from riven.cli.clock import SystemClock
from riven.cli.control import Control
from riven.cli.ending import Ending, json_bytes
from riven.cli.interrupts import Interrupts
from riven.cli.output import coloured, complain, draws_pictures, say_bytes
from riven.cli.prepare import PreparedRun, RefusedRunError, RunCall, prepare_run
from riven.cli.problems import problem_json, problem_lines
from riven.cli.progress import Progress
from riven.cli.runlog import ShownLog
from riven.cli.screen import OpenScreen, PlainScreen, QuietScreen, Screen
from riven.core.errors import InvalidDocumentError, Problem
from riven.core.messages import ExecutionStatus
from riven.engines.embedded.memory import MemoryEngine
from riven.nodes.addresses import AddressPolicy
from riven.nodes.contract import Clock
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.http_client import HttpClient
from riven.wire.document import Json

_MOST_WARNINGS = 20


@click.command(
    epilog=examples(
        "riven run refund.yaml --input orderId=A7 --input amount=120",
        "riven run refund.yaml --input @order.json --approve ask=approved --json",
        "riven run nightly.yaml --functions jobs.py --secret token=s3cret --timeout 10m",
    )
)
@click.argument("file")
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="JSON|@FILE|NAME=VALUE",
    help="The input: an object, a file with one, or one value of it. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one object at the end, and nothing else.")
@click.option(
    "--functions",
    "modules",
    multiple=True,
    metavar="FILE_OR_MODULE",
    help="Functions for python nodes. Repeatable.",
)
@click.option(
    "--signal",
    "signals",
    multiple=True,
    metavar="NAME=JSON",
    help="Send a signal; it is kept until a node waits for it. Repeatable.",
)
@click.option(
    "--approve",
    "decisions",
    multiple=True,
    metavar="PATH=approved|rejected",
    help="Decide an approval; a path without numbers decides that of every item. Repeatable.",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME=VALUE",
    help="What {{ secrets.NAME }} gives; never shown. Repeatable.",
)
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="FILE",
    help="A workflow that is called; else <name>.yaml beside FILE. Repeatable.",
)
@click.option("--timeout", metavar="DURATION", help="End the run as FAILED after so long, as in 30s, 10m.")
@click.option(
    "--max-in-flight",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    metavar="N",
    help="Nodes that run at the same time, at most.",
)
@click.option("--public-only", is_flag=True, help="Refuse private addresses, as a server does.")
def run(
    *,
    file: str,
    given: tuple[str, ...],
    as_json: bool,
    modules: tuple[str, ...],
    signals: tuple[str, ...],
    decisions: tuple[str, ...],
    secrets: tuple[str, ...],
    others: tuple[str, ...],
    timeout: str | None,
    max_in_flight: int,
    public_only: bool,
) -> int:
    """Run a workflow here, in memory: no server, no database. FILE is YAML or JSON; `-` is standard input.

    On a terminal the nodes are shown as they run, and approvals and signals are asked for. Into a pipe each change is
    a line. Exit code 0: completed; 1: failed or canceled; 2: the document, the input or the call is not valid.
    Ctrl-C cancels the run; a second one stops at once.
    """
    call = RunCall(
        file=file,
        input=given,
        functions=modules,
        signals=signals,
        decisions=decisions,
        secrets=secrets,
        others=others,
        timeout=timeout,
    )
    policy = AddressPolicy.server() if public_only else AddressPolicy.own_machine()
    try:
        prepared = prepare_run(call)
        if not as_json:
            _warn(prepared)
        result = _perform(prepared, policy, max_in_flight, as_json=as_json)
    except CallError as error:
        if not as_json:
            raise
        return _refuse_json((Problem(path=error.path, code=error.code, message=str(error)),))
    except RefusedRunError as refused:
        return _refuse_json(refused.problems) if as_json else _refuse(refused)
    except InvalidDocumentError as invalid:
        return _refuse_json(invalid.problems) if as_json else _refuse(RefusedRunError(invalid.problems, None))
    if as_json:
        say_bytes(json_bytes(result, indent=True) + b"\n")
    return DONE if result["status"] == ExecutionStatus.COMPLETED else FAILED


def _perform(
    prepared: PreparedRun, policy: AddressPolicy, max_in_flight: int, *, as_json: bool
) -> dict[str, Json]:
    clock = SystemClock()
    pool = FunctionPool()
    http = HttpClient(policy)
    services: Mapping[type[Any], Any] = {HttpClient: http, Functions: prepared.functions, FunctionPool: pool}
    engine = MemoryEngine(
        registry=prepared.registry, services=services, clock=clock, max_in_flight=max_in_flight
    )
    progress = Progress(prepared.graph)
    control = Control(engine, progress, prepared.decisions, prepared.signals)
    screen = _screen(prepared, progress, clock, control, as_json=as_json)
    control.screen = screen
    # What functions print must not stand in the middle of the JSON.
    prints = contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    with prints, ShownLog(screen.logged), Interrupts(control.cancel, screen.abandon, FAILED) as interrupts:
        return asyncio.run(_drive(prepared, engine, control, screen, http, interrupts))


async def _drive(
    prepared: PreparedRun,
    engine: MemoryEngine,
    control: Control,
    screen: Screen,
    http: HttpClient,
    interrupts: Interrupts,
) -> dict[str, Json]:
    interrupts.attach(asyncio.get_running_loop())
    screen.start()
    try:
        async with http:
            result = await engine.run(
                prepared.loaded,
                prepared.input,
                secrets=prepared.secrets,
                listener=control.changed,
                timeout=prepared.timeout,
            )
    except BaseException:
        screen.close()
        raise
    if control.failure is not None:
        screen.abandon()
        raise control.failure
    screen.ended(Ending(result))
    return result


def _screen(
    prepared: PreparedRun, progress: Progress, clock: Clock, control: Control, *, as_json: bool
) -> Screen:
    if as_json:
        return QuietScreen()
    if draws_pictures():
        live = cast("OpenScreen", loaders().live())
        name = prepared.document.name
        return live(name, progress, clock, control.answer, control.fail, coloured=coloured())
    return PlainScreen(prepared.graph, clock, control.fail)


def _warn(prepared: PreparedRun) -> None:
    source, warnings = prepared.source, prepared.loaded.problems
    for line in problem_lines(source.name, source.text, warnings[:_MOST_WARNINGS], _width()):
        complain(line)
    if len(warnings) > _MOST_WARNINGS:
        complain(f"riven: {len(warnings) - _MOST_WARNINGS:,} more warnings; riven validate shows all")


def _refuse(refused: RefusedRunError) -> int:
    source = refused.source
    name, text = ("", "") if source is None else (source.name, source.text)
    for line in problem_lines(name, text, refused.problems, _width()):
        complain(line)
    if source is None:
        complain("riven: give the input by --input NAME=VALUE, --input @FILE or --input '{...}'")
    elif any(problem.code == "unknown_function" for problem in refused.problems):
        complain("riven: give your functions by --functions FILE_OR_MODULE")
    return INVALID


def _refuse_json(problems: tuple[Problem, ...]) -> int:
    answer = {"valid": False, "problems": [problem_json(problem) for problem in problems]}
    say_bytes(json_bytes(answer, indent=True) + b"\n")
    return INVALID


def _width() -> int:
    return shutil.get_terminal_size().columns
