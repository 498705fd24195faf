"""The processes of an installation: parsed here, run by what `main` hands in."""

from collections.abc import Callable
from typing import Any

import click

from riven.cli.app import examples, loaders
from riven.cli.launching import ProcessCall

_host = click.option("--host", metavar="ADDRESS", help="Listen there.  [default: RIVEN_HOST or 127.0.0.1]")
_port = click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="Listen there; 0 takes a free one.  [default: RIVEN_PORT or 8642]",
)
_functions = click.option(
    "--functions",
    multiple=True,
    metavar="FILE_OR_MODULE",
    help="Functions for python nodes, beside those of RIVEN_FUNCTIONS. Repeatable.",
)
_engine = click.option(
    "--engine",
    type=click.Choice(["embedded", "temporal"]),
    help="What drives the runs.  [default: RIVEN_ENGINE or embedded]",
)
_name = click.option(
    "--name", metavar="NAME", help="What it is called in metrics.  [default: host and number]"
)
_watched = click.option("--watched", is_flag=True, hidden=True)
_maintenance = click.option("--maintenance", is_flag=True, hidden=True)
_succeeds = click.option("--succeeds", is_flag=True, hidden=True)
_descriptor = click.option("--fd", "descriptor", type=int, hidden=True)


def _process(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:  # noqa: ANN401 - click's decorators
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command(epilog=examples("riven api", "riven api --host 0.0.0.0 --port 80"))
@_process(_host, _port, _functions, _descriptor, _maintenance, _watched)
def api(**given: Any) -> int:  # noqa: ANN401 - as ProcessCall has them
    """Serve the HTTP API. Settings come from the environment (RIVEN_...).

    Ends in order on SIGTERM or Ctrl-C: requests under way are answered.
    """
    return loaders().launch(ProcessCall(role="api", **given))


@click.command(epilog=examples("riven worker", "riven worker --functions jobs.py --name worker-1"))
@_process(_engine, _functions, _name, _succeeds, _watched)
def worker(**given: Any) -> int:  # noqa: ANN401 - as ProcessCall has them
    """Run executions: claimed from the queue, or with Temporal taken from its task queue. Start as many as you like.

    On SIGTERM or Ctrl-C it takes nothing more, lets end what ends within RIVEN_DRAIN_TIMEOUT, and leaves the rest to
    other workers. A second Ctrl-C leaves it at once.
    """
    return loaders().launch(ProcessCall(role="worker", **given))


@click.command(epilog=examples("riven maintenance", "riven maintenance --name maintenance-1"))
@_process(_name, _watched)
def maintenance(**given: Any) -> int:  # noqa: ANN401 - as ProcessCall has them
    """Recover what dead processes held, repair, and clear away. One is needed; several share the work."""
    return loaders().launch(ProcessCall(role="maintenance", **given))


@click.command("all", epilog=examples("riven all", "riven all --port 80 --functions jobs.py"))
@_process(_engine, _host, _port, _functions, _name, _descriptor, _watched)
def everything(**given: Any) -> int:  # noqa: ANN401 - as ProcessCall has them
    """API, worker and maintenance in one process, with Temporal the dispatcher too: as many replicas as you like."""
    return loaders().launch(ProcessCall(role="all", **given))


@click.command(epilog=examples("riven dispatcher --engine temporal"))
@_process(_engine, _name, _succeeds, _watched)
def dispatcher(**given: Any) -> int:  # noqa: ANN401 - as ProcessCall has them
    """Claim executions and start them on Temporal. Two share the work, and one goes on without the other.

    The embedded engine needs none: there every worker dispatches for itself.
    """
    return loaders().launch(ProcessCall(role="dispatcher", **given))


@click.command(epilog=examples("riven migrate", "riven migrate --platform-key"))
@click.option(
    "--platform-key",
    is_flag=True,
    help="Also make the first platform key and print it, once: it administers the installation.",
)
def migrate(*, platform_key: bool) -> int:
    """Bring the database (RIVEN_DATABASE_URL) to the schema of this version. Does nothing where nothing is to be done.

    With RIVEN_ENGINE=temporal also register the search attributes of riven's workflows there.
    """
    return loaders().launch(ProcessCall(role="migrate", platform_key=platform_key))
