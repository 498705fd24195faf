"""`riven executions`: what was started, seen one by one and in lists."""

from typing import Any

import click

from riven.cli.app import DONE, examples, help_if_alone
from riven.cli.columns import columns
from riven.cli.ending import json_text
from riven.cli.lettering import printable
from riven.cli.output import say, say_lines
from riven.cli.quantities import duration_words
from riven.cli.server import (
    Server,
    find_workspace,
    json_option,
    print_json,
    server_options,
    talk,
    workspace_option,
)
from riven.cli.start import follow_to_end
from riven.cli.steering import COMMANDS
from riven.cli.waiting import waiting_words
from riven.cli.wording import error_words
from riven.client.http import Client
from riven.core.messages import ExecutionStatus
from riven.wire.document import Json

_COLOURS = {
    "RUNNING": "cyan",
    "RETRYING": "yellow",
    "WAITING": "magenta",
    "PAUSED": "magenta",
    "COMPLETED": "green",
    "FAILED": "red",
}
_LARGEST_PAGE = 200


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "riven executions list --status FAILED --status CANCELED",
        "riven executions show 0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f",
        "riven executions approve 0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f ask approved",
    ),
)
def executions() -> None:
    """See executions on a server, and steer them."""
    help_if_alone()


@executions.command(
    "list",
    short_help="List them, the newest first.",
    epilog=examples(
        "riven executions list",
        "riven executions list --workflow refund --status FAILED --limit 20",
        "riven executions list --label customer=acme --created-after 2026-11-19T00:00:00Z --json",
        "riven executions list --status FAILED --ids --limit 1000 | xargs -r riven executions retry",
    ),
)
@click.option("--workflow", metavar="NAME", help="Those of this workflow.")
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="Those of this version of it.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([status.value for status in ExecutionStatus], case_sensitive=False),
    metavar="STATUS",
    help="Those that are so, as in FAILED. Repeatable: any of them.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=VALUE",
    help="Those that have it. Repeatable: all of them.",
)
@click.option("--correlation-id", metavar="TEXT", help="Those about this.")
@click.option("--created-after", metavar="TIME", help="As in 2026-11-19T08:30:00Z.")
@click.option("--created-before", metavar="TIME", help="As in 2026-11-19T08:30:00Z.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="At most so many."
)
@click.option("--ids", is_flag=True, help="Print their ids alone, for other commands.")
@workspace_option
@json_option
@server_options
def list_all(
    server: Server,
    *,
    statuses: tuple[str, ...],
    labels: tuple[str, ...],
    limit: int,
    ids: bool,
    workspace: str | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - options as they are
) -> int:
    """List executions, the newest first."""

    async def conversation(client: Client) -> list[dict[str, Json]]:
        found = []
        filters = {
            "workspaceId": await find_workspace(client, server, workspace),
            "status": list(statuses),
            "label": list(labels),
            "limit": min(limit, _LARGEST_PAGE),
            **{_camel(name): value for name, value in given.items()},
        }
        async for execution in client.every("/workflow/executions", **filters):
            found.append(execution)
            if len(found) == limit:
                break
        return found

    found = talk(server, conversation)
    if ids:
        say_lines(each["executionId"] for each in found)
        return DONE
    if as_json:
        print_json(found)
        return DONE
    for line in columns(
        ("EXECUTION", "WORKFLOW", "STATUS", "CREATED", "TOOK", "WHY"), [_row(each) for each in found]
    ):
        say(line)
    return DONE


@executions.command("show", epilog=examples("riven executions show 0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f"))
@click.argument("execution_id", metavar="EXECUTION")
@json_option
@server_options
def show(server: Server, *, execution_id: str, as_json: bool) -> int:
    """Everything about an execution and its nodes. --json prints what 'riven run --json' prints."""

    async def conversation(client: Client) -> dict[str, Json]:
        return {**await client.execution(execution_id), "nodes": await client.nodes(execution_id)}

    found = talk(server, conversation)
    if as_json:
        print_json(found)
        return DONE
    for name, value in _facts(found):
        say(f"{click.style(f'{name:<14}', dim=True)}{value}")
    say("")
    for line in columns(
        ("NODE", "TYPE", "STATUS", "TRIES", "TOOK", ""), [_node_row(each) for each in found["nodes"]]
    ):
        say(line)
    return DONE


@executions.command(
    "watch",
    short_help="Show one as it goes on, until it has ended.",
    epilog=examples(
        "riven executions watch 0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f",
        "riven executions watch 0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f --json",
    ),
)
@click.argument("execution_id", metavar="EXECUTION")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the execution when it has ended, and nothing else."
)
@server_options
def watch(server: Server, *, execution_id: str, as_json: bool) -> int:
    """Show an execution as it goes on, until it has ended. Exit code 0: completed; 1: failed or canceled.

    On a terminal approvals and signals are asked for. Ctrl-C stops watching; the execution goes on.
    """
    return follow_to_end(server, execution_id, as_json=as_json)


for command in COMMANDS:
    executions.add_command(command)


def _row(execution: dict[str, Json]) -> tuple[str, ...]:
    workflow = execution["workflow"]
    return (
        execution["executionId"],
        f"{workflow['name']} {workflow.get('version') or ''}".rstrip(),
        execution["status"],
        execution["createdAt"],
        _took(execution),
        _why(execution),
    )


def _node_row(node: dict[str, Json]) -> tuple[str, ...]:
    outcome = node.get("outcome")
    said = [outcome if outcome != "success" else None, node.get("skipReason"), error_words(node.get("error"))]
    return (
        node["path"],
        node["type"],
        node["status"],
        str(node.get("attempt") or ""),
        _took(node),
        "  ".join(part for part in said if part),
    )


def _facts(execution: dict[str, Json]) -> list[tuple[str, str]]:
    workflow, status = execution["workflow"], str(execution["status"])
    facts = [
        ("execution", execution["executionId"]),
        ("workflow", f"{workflow['name']} {workflow.get('version') or ''}".rstrip()),
        ("status", click.style(status, fg=_COLOURS.get(status))),
        ("why", _why(execution)),
        ("created", execution["createdAt"]),
        ("started", execution.get("startedAt")),
        ("finished", execution.get("finishedAt")),
        ("took", _took(execution)),
        ("correlation", execution.get("correlationId")),
        ("labels", ", ".join(f"{name}={value}" for name, value in (execution.get("labels") or {}).items())),
        ("rerun of", execution.get("rerunOf")),
        ("input", json_text(execution.get("input"))),
        ("output", json_text(execution["output"]) if execution.get("output") is not None else ""),
    ]
    return [(name, text if name == "status" else printable(str(text))) for name, text in facts if text]


def _why(execution: dict[str, Json]) -> str:
    error = execution.get("error")
    if error is not None:
        words = error_words(error) or ""
        return f"{error['node']}: {words}" if error.get("node") else words
    waiting = execution.get("waiting")
    return "" if waiting is None else waiting_words(waiting)


def _took(what: dict[str, Json]) -> str:
    milliseconds = what.get("durationMs")
    return "" if milliseconds is None else duration_words(milliseconds)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
