"""`riven dev`: the whole product on this machine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from riven.cli.app import DONE, FAILED, CommandError, examples, loaders
from riven.cli.data_directory import data_directory_option, default_directory
from riven.cli.lettering import printable
from riven.cli.output import say_if_heard
from riven.core.errors import RivenError


@dataclass(frozen=True, slots=True, kw_only=True)
class DevCall:
    """What was written on the command line; None: as the settings have it."""

    data_dir: Path
    host: str | None
    port: int | None
    workers: int
    functions: tuple[str, ...]
    engine: Literal["embedded", "temporal"] | None
    shows_logs: bool


@click.command(
    epilog=examples(
        "riven dev",
        "riven dev --data-dir ./riven-data --port 0",
        "riven dev --workers 2 --functions jobs.py",
        "riven dev --engine temporal",
    )
)
@data_directory_option("Where everything is kept; made if need be. By default the user's data directory.")
@click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="Port to listen on; 0: a free one.  [default: 8642]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Worker processes.",
)
@click.option(
    "--functions",
    multiple=True,
    metavar="FILE_OR_MODULE",
    help="Functions for python nodes, beside those of RIVEN_FUNCTIONS. Repeatable.",
)
@click.option(
    "--engine",
    type=click.Choice(["embedded", "temporal"]),
    help="What drives the runs.  [default: RIVEN_ENGINE or embedded]",
)
@click.option(
    "--logs", "shows_logs", is_flag=True, help="Show what the processes log, instead of writing it to files."
)
def dev(
    *,
    data_dir: Path | None,
    host: str | None,
    port: int | None,
    workers: int,
    functions: tuple[str, ...],
    engine: Literal["embedded", "temporal"] | None,
    shows_logs: bool,
) -> int:
    """Run the whole product on this machine: PostgreSQL, API, worker and maintenance, watched over.

    With '--engine temporal' also Temporal's development server, and a dispatcher.

    There is a workspace 'default' and a key that may do everything; 'riven apply', 'riven start' and the other commands
    find both by themselves. With RIVEN_DATABASE_URL that database is used, otherwise one of its own; the same for
    RIVEN_TEMPORAL_ADDRESS. Ctrl-C lets what runs end, and stops; the next start goes on with what was not finished. All
    settings (RIVEN_...) hold.
    """
    call = DevCall(
        data_dir=data_dir or default_directory(),
        host=host,
        port=port,
        workers=workers,
        functions=functions,
        engine=engine,
        shows_logs=shows_logs,
    )
    try:
        loaders().dev()(call, say_if_heard)
    except RivenError as error:
        raise CommandError(printable(str(error)), FAILED) from None
    return DONE
