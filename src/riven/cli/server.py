"""Which server a command talks to, as whom and about which workspace; and what becomes of its refusals."""

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from riven.cli.app import FAILED, INVALID, CommandError
from riven.cli.arguments import CallError
from riven.cli.data_directory import data_directory_option, default_directory, read_dev_json
from riven.cli.lettering import clipped, printable
from riven.cli.output import say_bytes
from riven.client.errors import ClientError, RefusedError, ServerAwayError
from riven.client.http import Client
from riven.wire.document import Json

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_MOST_ERRORS = 20
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    api_key: str
    own_workspace: str | None = None
    """That of the `riven dev` which it is; other servers are asked."""


def server_options(command: F) -> F:
    """`--url`, `--api-key` and `--data-dir`, together as the parameter `server`."""

    @functools.wraps(command)
    def called(url: str | None, api_key: str | None, data_dir: Path | None, **given: object) -> object:
        return command(server=_find(url, api_key, data_dir), **given)

    for option in (
        data_directory_option("That of the 'riven dev' to talk to; by default the user's own."),
        click.option(
            "--api-key",
            envvar="RIVEN_API_KEY",
            metavar="KEY",
            help="By default RIVEN_API_KEY, or that of 'riven dev'.",
        ),
        click.option(
            "--url",
            envvar="RIVEN_URL",
            metavar="URL",
            help="The server. By default RIVEN_URL, or 'riven dev'.",
        ),
    ):
        called = option(called)
    return called  # type: ignore[return-value]


def workspace_option(command: F) -> F:
    return click.option(
        "--workspace",
        envvar="RIVEN_WORKSPACE",
        metavar="NAME|ID",
        help="By default RIVEN_WORKSPACE, that of 'riven dev', or the only one of the key.",
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print the server's answer as JSON.")(command)


def talk(server: Server, conversation: Callable[[Client], Awaitable[T]]) -> T:
    """Raises CommandError with one line that says what to do, where the server does not do as it is asked."""

    async def in_loop() -> T:
        async with Client(server.url, server.api_key, tries=3) as client:
            return await conversation(client)

    try:
        return asyncio.run(in_loop())
    except RefusedError as refused:
        raise CommandError(
            refusal_words(refused), INVALID if refused.status in _WRONGLY_ASKED else FAILED
        ) from None
    except ServerAwayError as error:
        raise CommandError(
            f"{printable(server.url)}: {printable(str(error))}; is 'riven dev' running?", FAILED
        ) from None
    except ClientError as error:
        raise CommandError(printable(str(error)), FAILED) from None


_WRONGLY_ASKED = frozenset({400, 422})


def refusal_words(refused: RefusedError) -> str:
    """One line; further ones for the errors of fields where there are several."""
    said = printable(refused.detail or refused.title)
    if refused.status == 401:
        said += "; give another with --api-key or RIVEN_API_KEY"
    errors = [
        error for error in refused.errors if error.message not in refused.detail or len(refused.errors) > 1
    ]
    lines = [
        f"  {f'{printable(each.path)}: ' if each.path else ''}{printable(each.message)}"
        for each in errors[:_MOST_ERRORS]
    ]
    if len(errors) > _MOST_ERRORS:
        lines.append(f"  and {len(errors) - _MOST_ERRORS:,} more")
    return "\n".join([said, *lines])


async def find_workspace(client: Client, server: Server, wanted: str | None) -> str:
    """The id of the workspace that is meant.

    Raises:
        CallError: there is none of that name, or there are several and none was named.
    """
    if wanted is None and server.own_workspace is not None:
        return server.own_workspace
    if wanted is not None and _UUID.fullmatch(wanted):
        return wanted.lower()
    found: dict[str, list[str]] = {}
    async for workspace in client.every("/workspaces", limit=200):
        found.setdefault(workspace["name"], []).append(workspace["workspaceId"])
    names = ", ".join(printable(name) for name in sorted(found)[:_MOST_NAMES])
    names += ", ..." if len(found) > _MOST_NAMES else ""
    there = f"there {'is' if len(found) == 1 else 'are'} {names}" if found else "there is none yet"
    if wanted is None:
        ids = [each for group in found.values() for each in group]
        if len(ids) == 1:
            return ids[0]
        raise CallError(f"say which workspace with --workspace; {there}")
    match found.get(wanted, []):
        case [only]:
            return only
        case []:
            raise CallError(f"there is no workspace '{clipped(printable(wanted), 60)}'; {there}")
        case several:
            raise CallError(
                f"there are {len(several)} workspaces of this name; say which by its id: {', '.join(several)}"
            )


def print_json(value: Json) -> None:
    say_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _find(url: str | None, api_key: str | None, data_dir: Path | None) -> Server:
    context = click.get_current_context()
    if data_dir is not None:
        # Said on the command line, it weighs more than what the environment says.
        url, api_key = (_if_written(context, "url", url), _if_written(context, "api_key", api_key))
    if url is not None and api_key is not None:
        return Server(url, api_key)
    directory = data_dir or default_directory()
    dev = read_dev_json(directory)
    if dev is None:
        if url is None:
            where = f"no 'riven dev' runs on {printable(str(directory))}"
            raise CommandError(
                f"{where}; start one, or name a server with --url and --api-key (RIVEN_URL, RIVEN_API_KEY)",
                FAILED,
            )
        raise CallError("give a key with --api-key or RIVEN_API_KEY")
    if url is not None and url.rstrip("/") != dev.url:
        raise CallError("give the key of this server with --api-key or RIVEN_API_KEY")
    return Server(dev.url, api_key or dev.api_key, dev.workspace_id)


def _if_written(context: click.Context, name: str, value: str | None) -> str | None:
    return value if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE else None
