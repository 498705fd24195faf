"""`riven start`: start a published workflow on a server, and see it through."""

import click

from riven.cli.app import DONE, FAILED, examples
from riven.cli.arguments import CallError, parse_input, parse_pairs
from riven.cli.clock import SystemClock
from riven.cli.follow import follow
from riven.cli.json_files import read_json
from riven.cli.lettering import printable
from riven.cli.output import say
from riven.cli.server import (
    Server,
    find_workspace,
    json_option,
    print_json,
    server_options,
    talk,
    workspace_option,
)
from riven.client.http import Client, Started
from riven.core.messages import ExecutionStatus
from riven.wire.durations import parse_duration
from riven.wire.times import from_rfc3339, to_rfc3339


@click.command(
    epilog=examples(
        "riven start refund --input orderId=A7 --input amount=120",
        "riven start refund --input @order.json --wait",
        "riven start nightly --in 10m --label customer=acme --idempotency-key nightly-2026-11-19",
    )
)
@click.argument("workflow", metavar="NAME")
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="JSON|@FILE|NAME=VALUE",
    help="The input: an object, a file with one, or one value of it. Repeatable.",
)
@click.option("--wait", is_flag=True, help="Show it until it has ended; exit code 1 unless it completed.")
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="By default the latest.")
@click.option(
    "--priority", type=click.IntRange(-100, 100), metavar="N", help="-100 to 100; higher goes first."
)
@click.option("--at", metavar="TIME", help="Not before, as in 2026-11-20T08:00:00Z.")
@click.option("--in", "after", metavar="DURATION", help="Not before so long from now, as in 10m.")
@click.option(
    "--label", "labels", multiple=True, metavar="NAME=VALUE", help="Lists filter by it. Repeatable."
)
@click.option("--correlation-id", metavar="TEXT", help="Your own id of what this is about.")
@click.option(
    "--idempotency-key",
    metavar="TEXT",
    help="The same start with the same key happens once, however often it is sent.",
)
@workspace_option
@json_option
@server_options
def start(
    server: Server,
    *,
    workflow: str,
    given: tuple[str, ...],
    wait: bool,
    version: int | None,
    priority: int | None,
    at: str | None,
    after: str | None,
    labels: tuple[str, ...],
    correlation_id: str | None,
    idempotency_key: str | None,
    workspace: str | None,
    as_json: bool,
) -> int:
    """Start a published workflow. It is durable and in line when this returns.

    With --wait it is shown as 'riven run' shows it; Ctrl-C stops watching, the execution goes on. Exit code 0: started,
    or with --wait completed; 1: failed, canceled, or the server said no; 2: the call or the input is not valid.
    """
    input = parse_input(given, read_json)
    scheduled_for = _moment(at, after)
    pairs = {pair.name: pair.value for pair in parse_pairs(labels, "--label", "name=value")}

    async def conversation(client: Client) -> Started:
        into = await find_workspace(client, server, workspace)
        return await client.start(
            into,
            workflow,
            input,
            version=version,
            priority=priority,
            scheduled_for=scheduled_for,
            correlation_id=correlation_id,
            labels=pairs or None,
            idempotency_key=idempotency_key,
        )

    started = talk(server, conversation)
    if wait:
        return follow_to_end(server, started.execution_id, as_json=as_json)
    if as_json:
        answer = {"executionId": started.execution_id, "queueId": started.queue_id, "status": started.status}
        print_json(answer)
    else:
        say(f"{click.style(printable(workflow), bold=True)}  {started.status}  {started.execution_id}")
    return DONE


def follow_to_end(server: Server, execution_id: str, *, as_json: bool) -> int:
    """Show it, and give the exit code that says how it ended."""
    result = follow(server, execution_id, as_json=as_json)
    if as_json:
        print_json(result)
    return DONE if result["status"] == ExecutionStatus.COMPLETED else FAILED


def _moment(at: str | None, after: str | None) -> str | None:
    if at is not None and after is not None:
        raise CallError("give --at or --in, not both")
    try:
        if after is not None:
            return to_rfc3339(SystemClock().now() + parse_duration(after))
        return None if at is None else to_rfc3339(from_rfc3339(at))
    except (ValueError, OverflowError) as error:
        option = "--at" if after is None else "--in"
        hint = "; write for example 2026-11-20T08:00:00Z" if after is None else ""
        raise CallError(f"{option}: {printable(str(error))}{hint}") from None
