"""The console script: the table of commands. Each is imported when it is called, and with it what it alone needs."""

import sys

import click

from riven.cli.app import Entry, run_app


def _run() -> click.Command:
    from riven.cli.run import run

    return run


def _validate() -> click.Command:
    from riven.cli.validate import validate

    return validate


def _graph() -> click.Command:
    from riven.cli.graph import graph

    return graph


COMMANDS = {
    "run": Entry("Run a workflow here, in memory.", _run),
    "validate": Entry("Tell everything that is wrong with documents.", _validate),
    "graph": Entry("Draw a workflow.", _graph),
}


def main() -> None:
    sys.exit(run_app(sys.argv[1:], COMMANDS))


if __name__ == "__main__":
    main()
