"""`riven keys`: who may ask, and for what."""

import click

from riven.cli.app import DONE, examples, help_if_alone
from riven.cli.arguments import CallError
from riven.cli.clock import SystemClock
from riven.cli.columns import columns
from riven.cli.lettering import printable
from riven.cli.output import complain, say
from riven.cli.server import (
    Server,
    find_workspace,
    json_option,
    print_json,
    server_options,
    talk,
    workspace_option,
)
from riven.client.http import Client, Object, keys_path
from riven.wire.durations import parse_duration
from riven.wire.times import from_rfc3339, to_rfc3339

_ID = "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b12"
platform_option = click.option(
    "--platform", is_flag=True, help="Keys of the platform, which are ADMIN in every workspace."
)


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "riven keys create backend --role OPERATOR",
        "riven keys list --workspace acme",
        f"riven keys revoke {_ID}",
    ),
)
def keys() -> None:
    """Make, list and revoke API keys. Needs a key that is ADMIN in the workspace."""
    help_if_alone()


@keys.command(
    "list",
    short_help="List them, the newest first.",
    epilog=examples("riven keys list", "riven keys list --platform --json"),
)
@platform_option
@workspace_option
@json_option
@server_options
def list_all(server: Server, *, platform: bool, workspace: str | None, as_json: bool) -> int:
    """List keys, the newest first, without those that were revoked. Keys themselves are never shown again."""
    _check_whose(platform=platform)

    async def conversation(client: Client) -> list[Object]:
        whose = None if platform else await find_workspace(client, server, workspace)
        return [each async for each in client.every(keys_path(whose), limit=200)]

    found = talk(server, conversation)
    if as_json:
        print_json(found)
        return DONE
    rows = [
        (
            each["keyId"],
            f"{each['prefix']}…",
            each["role"],
            each["lastUsedAt"] or "never",
            each["expiresAt"] or "never",
            each["name"],
        )
        for each in found
    ]
    for line in columns(("KEY ID", "BEGINS", "ROLE", "LAST USED", "EXPIRES", "NAME"), rows):
        say(line)
    return DONE


@keys.command(
    "create",
    short_help="Make one; it is shown once.",
    epilog=examples(
        "riven keys create backend --role OPERATOR",
        "riven keys create dashboard --role VIEWER --workspace acme --expires 90d",
        "riven keys create provisioning --platform",
    ),
)
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["VIEWER", "OPERATOR", "EDITOR", "ADMIN"], case_sensitive=False),
    metavar="ROLE",
    help="VIEWER reads; OPERATOR also starts and steers; EDITOR also writes workflows; ADMIN also members and keys.",
)
@click.option(
    "--expires", metavar="DURATION|TIME", help="As in 90d, or 2030-01-01T00:00:00Z; by default never."
)
@platform_option
@workspace_option
@json_option
@server_options
def create(
    server: Server,
    *,
    name: str,
    role: str | None,
    expires: str | None,
    platform: bool,
    workspace: str | None,
    as_json: bool,
) -> int:
    """Make a key. It goes to standard output, and is never seen again."""
    _check_whose(platform=platform)
    if platform and role is not None:
        raise CallError("a key of the platform has no role; leave --role out")
    if not platform and role is None:
        raise CallError("say what the key may do, as in --role OPERATOR")
    expires_at = None if expires is None else _moment(expires)

    async def conversation(client: Client) -> Object:
        whose = None if platform else await find_workspace(client, server, workspace)
        return await client.create_key(whose, name, role, expires_at=expires_at)

    made = talk(server, conversation)
    if as_json:
        print_json(made)
        return DONE
    say(made["key"])
    complain(
        f"riven: {printable(name)} is {made['role']}; keep the key, it is not shown again (key id {made['keyId']})"
    )
    return DONE


@keys.command("revoke", short_help="Refuse it from now on.", epilog=examples(f"riven keys revoke {_ID}"))
@click.argument("key_ids", nargs=-1, required=True, metavar="KEY_ID...")
@json_option
@server_options
def revoke(server: Server, *, key_ids: tuple[str, ...], as_json: bool) -> int:
    """At once: the next request with it is refused. Takes the key's id, not the key."""
    for key_id in key_ids:
        if key_id.startswith("rvn_"):
            raise CallError(
                "name the key by its id, as 'riven keys list' shows it; and revoke this one: it was shown"
            )

    async def conversation(client: Client) -> None:
        for key_id in key_ids:
            await client.revoke_key(key_id)

    talk(server, conversation)
    if as_json:
        print_json([{"keyId": key_id, "revoked": True} for key_id in key_ids])
    else:
        for key_id in key_ids:
            say(f"{printable(key_id)}  is revoked")
    return DONE


def _check_whose(*, platform: bool) -> None:
    """A workspace that the environment names is no reason to refuse; one that was written is a misunderstanding."""
    source = click.get_current_context().get_parameter_source("workspace")
    if platform and source is click.core.ParameterSource.COMMANDLINE:
        raise CallError("a key of the platform is of no workspace; leave --platform or --workspace out")


def _moment(written: str) -> str:
    now, shown = SystemClock().now(), printable(written)[:40]
    try:
        moment = now + parse_duration(written)
    except ValueError:
        try:
            moment = from_rfc3339(written)
        except (ValueError, OverflowError):
            raise CallError(f"--expires '{shown}': write for example 90d, or 2030-01-01T00:00:00Z") from None
    if moment <= now:
        raise CallError(
            f"--expires '{shown}': such a key would be refused from the beginning; name a later time"
        )
    return to_rfc3339(moment)
