"""`riven workspaces`: tenants, with their tiers and limits."""

import click

from riven.cli.app import DONE, examples, help_if_alone
from riven.cli.arguments import CallError
from riven.cli.columns import columns
from riven.cli.lettering import printable
from riven.cli.output import say
from riven.cli.server import Server, find_workspace, json_option, print_json, server_options, talk
from riven.client.http import Client, Object
from riven.wire.document import Json

_TIER = "tier"
_LIMIT = "N|tier"
workspace_argument = click.argument("workspace", required=False, metavar="[NAME|ID]")


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "riven workspaces create acme --tier PRO",
        "riven workspaces show acme",
        "riven workspaces set acme --tier ENTERPRISE --running 40",
    ),
)
def workspaces() -> None:
    """See and administer workspaces. What changes one needs a platform key."""
    help_if_alone()


@workspaces.command("list", epilog=examples("riven workspaces list", "riven workspaces list --json"))
@json_option
@server_options
def list_all(server: Server, *, as_json: bool) -> int:
    """List those that the key may see, the newest first."""

    async def conversation(client: Client) -> list[Object]:
        return [each async for each in client.every("/workspaces", limit=200)]

    found = talk(server, conversation)
    if as_json:
        print_json(found)
        return DONE
    rows = [
        (each["workspaceId"], each["tier"], _limit(each["limits"]["running"]), _state(each), each["name"])
        for each in found
    ]
    for line in columns(("WORKSPACE", "TIER", "RUNNING", "", "NAME"), rows):
        say(line)
    return DONE


@workspaces.command(
    "create",
    epilog=examples(
        "riven workspaces create acme --tier PRO",
        "riven workspaces create big --tier ENTERPRISE --running 40",
    ),
)
@click.argument("name")
@click.option("--tier", default="FREE", show_default=True, help="FREE, PRO, ENTERPRISE, or one of your own.")
@click.option("--running", metavar="N", help="Executions at the same time, other than the tier's.")
@click.option("--queued", metavar="N", help="Executions in line, other than the tier's.")
@click.option(
    "--max-attempts", metavar="N", help="Starts that the engine may refuse before an item is FAILED."
)
@click.option(
    "--weight", type=click.IntRange(1, 1_000), metavar="N", help="Executions admitted at each turn."
)
@json_option
@server_options
def create(
    server: Server,
    *,
    name: str,
    tier: str,
    running: str | None,
    queued: str | None,
    max_attempts: str | None,
    weight: int | None,
    as_json: bool,
) -> int:
    """Make a workspace."""
    limits = _limits(running, queued, max_attempts)

    async def conversation(client: Client) -> Object:
        return await client.create_workspace(name, tier, limits=limits or None, weight=weight)

    return _tell(talk(server, conversation), as_json=as_json)


@workspaces.command("show", epilog=examples("riven workspaces show", "riven workspaces show acme --json"))
@workspace_argument
@json_option
@server_options
def show(server: Server, *, workspace: str | None, as_json: bool) -> int:
    """Its tier and limits, and how full it is."""

    async def conversation(client: Client) -> Object:
        workspace_id = await find_workspace(client, server, workspace)
        return {**await client.workspace(workspace_id), "capacity": await client.capacity(workspace_id)}

    return _tell(talk(server, conversation), as_json=as_json)


@workspaces.command(
    "set",
    epilog=examples(
        "riven workspaces set acme --tier ENTERPRISE",
        "riven workspaces set acme --running 40 --queued tier",
        "riven workspaces set acme --disable",
    ),
)
@click.argument("workspace", metavar="NAME|ID")
@click.option("--name", metavar="TEXT", help="Another name.")
@click.option("--tier", help="FREE, PRO, ENTERPRISE, or one of your own.")
@click.option("--running", metavar=_LIMIT, help="Executions at the same time; 'tier': as the tier has it.")
@click.option("--queued", metavar=_LIMIT, help="Executions in line; 'tier': as the tier has it.")
@click.option(
    "--max-attempts", metavar=_LIMIT, help="Starts that the engine may refuse before an item is FAILED."
)
@click.option(
    "--weight", type=click.IntRange(1, 1_000), metavar="N", help="Executions admitted at each turn."
)
@click.option(
    "--disable/--enable", "disabled", default=None, help="Refuse starts, and hold back what waits; or not."
)
@json_option
@server_options
def change(
    server: Server,
    *,
    workspace: str,
    name: str | None,
    tier: str | None,
    running: str | None,
    queued: str | None,
    max_attempts: str | None,
    weight: int | None,
    disabled: bool | None,
    as_json: bool,
) -> int:
    """Change what is named, leave the rest. A changed limit holds at once."""
    given = {"name": name, "tier": tier, "weight": weight, "disabled": disabled}
    wanted: Object = {key: value for key, value in given.items() if value is not None}
    if limits := _limits(running, queued, max_attempts):
        wanted["limits"] = limits
    if not wanted:
        raise CallError("say what to change, as in --tier PRO")

    async def conversation(client: Client) -> Object:
        return await client.change_workspace(await find_workspace(client, server, workspace), wanted)

    return _tell(talk(server, conversation), as_json=as_json)


def _limits(running: str | None, queued: str | None, max_attempts: str | None) -> Object:
    written = {"running": running, "queued": queued, "maxAttempts": max_attempts}
    return {name: _whole(name, text) for name, text in written.items() if text is not None}


def _whole(name: str, text: str) -> int | None:
    if text == _TIER:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        option = "max-attempts" if name == "maxAttempts" else name
        raise CallError(
            f"--{option} '{printable(text)[:40]}': write a whole number, or 'tier' for what the tier has"
        )
    return int(text)


def _tell(workspace: Object, *, as_json: bool) -> int:
    if as_json:
        print_json(workspace)
        return DONE
    limits: dict[str, Json] = workspace["limits"]
    facts = {
        "workspace": workspace["workspaceId"],
        "name": workspace["name"],
        "tier": workspace["tier"],
        "running": f"at most {_limit(limits['running'])}",
        "in line": f"at most {_limit(limits['queued'])}",
        "attempts": f"at most {_limit(limits['maxAttempts'])} starts",
        "weight": workspace["weight"],
        "state": _state(workspace) or "enabled",
    }
    if (capacity := workspace.get("capacity")) is not None:
        facts["running"] = f"{capacity['inUse']} of {_limit(capacity['limit'])}"
        since = capacity["oldestWaitingSince"]
        oldest = "" if since is None else f", the oldest since {since}"
        facts["in line"] = f"{capacity['waiting']} of {_limit(capacity['queuedLimit'])}{oldest}"
    for name, value in facts.items():
        say(f"{click.style(f'{name:<11}', dim=True)}{printable(str(value))}")
    return DONE


def _state(workspace: Object) -> str:
    return "disabled" if workspace["disabled"] else ""


def _limit(limit: Json) -> str:
    return "any number" if limit is None else f"{limit:,}"
