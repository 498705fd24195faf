"""What may be done to an execution on a server: cancel, pause, signal, approve, retry, rerun."""

from collections.abc import Awaitable, Callable

import click

from riven.cli.app import DONE, FAILED, examples
from riven.cli.arguments import CallError, parse_input, parse_json
from riven.cli.json_files import read_json
from riven.cli.lettering import printable
from riven.cli.output import complain, say
from riven.cli.server import Server, json_option, print_json, refusal_words, server_options, talk
from riven.cli.start import follow_to_end
from riven.client.errors import RefusedError
from riven.client.http import Client, Object
from riven.wire.document import Json

_ID = "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f"
execution_argument = click.argument("execution_id", metavar="EXECUTION")
wait_option = click.option("--wait", is_flag=True, help="Show it until it has ended.")


@click.command(short_help="End them as CANCELED.", epilog=examples(f"riven executions cancel {_ID}"))
@click.argument("execution_ids", nargs=-1, required=True, metavar="EXECUTION...")
@json_option
@server_options
def cancel(server: Server, *, execution_ids: tuple[str, ...], as_json: bool) -> int:
    """End executions as CANCELED: what runs is canceled, nothing more starts."""
    return _each(server, execution_ids, Client.cancel, "is canceled", as_json=as_json)


@click.command(short_help="Start nothing more of them.", epilog=examples(f"riven executions pause {_ID}"))
@click.argument("execution_ids", nargs=-1, required=True, metavar="EXECUTION...")
@json_option
@server_options
def pause(server: Server, *, execution_ids: tuple[str, ...], as_json: bool) -> int:
    """Start nothing more of them; what runs finishes, and the slot is free."""
    return _each(server, execution_ids, Client.pause, "pauses", as_json=as_json)


@click.command(short_help="Put paused ones in line again.", epilog=examples(f"riven executions resume {_ID}"))
@click.argument("execution_ids", nargs=-1, required=True, metavar="EXECUTION...")
@json_option
@server_options
def resume(server: Server, *, execution_ids: tuple[str, ...], as_json: bool) -> int:
    """Put paused executions in line again."""
    return _each(server, execution_ids, Client.resume, "goes on", as_json=as_json)


@click.command(
    short_help="Go on from what failed.",
    epilog=examples(
        f"riven executions retry {_ID} --wait",
        "riven executions list --status FAILED --ids | xargs -r riven executions retry",
    ),
)
@click.argument("execution_ids", nargs=-1, required=True, metavar="EXECUTION...")
@wait_option
@json_option
@server_options
def retry(server: Server, *, execution_ids: tuple[str, ...], wait: bool, as_json: bool) -> int:
    """Go on with failed or canceled executions from what failed; what completed is kept."""
    if not wait:
        return _each(server, execution_ids, Client.retry, "is tried again", as_json=as_json)
    if len(execution_ids) > 1:
        raise CallError(
            "--wait shows one execution; leave it out, and see how they do with 'executions list'"
        )
    talk(server, lambda client: client.retry(execution_ids[0]))
    return follow_to_end(server, execution_ids[0], as_json=as_json)


@click.command(
    short_help="Start one again, from the beginning or a node.",
    epilog=examples(
        f"riven executions rerun {_ID} --from charge --dry-run",
        f"riven executions rerun {_ID} --from charge --input amount=120 --wait",
        f"riven executions rerun {_ID} --version 4",
    ),
)
@execution_argument
@click.option("--from", "from_node", metavar="PATH", help="Keep what comes before this node.")
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="JSON|@FILE|NAME=VALUE",
    help="Another input; what it does not name is as it was. Repeatable.",
)
@click.option(
    "--version", type=click.IntRange(min=1), metavar="N", help="With another version of the workflow."
)
@click.option("--dry-run", is_flag=True, help="Start nothing; tell what would run again and what is kept.")
@click.option("--idempotency-key", metavar="TEXT", help="The same rerun with the same key happens once.")
@wait_option
@json_option
@server_options
def rerun(
    server: Server,
    *,
    execution_id: str,
    from_node: str | None,
    given: tuple[str, ...],
    version: int | None,
    dry_run: bool,
    idempotency_key: str | None,
    wait: bool,
    as_json: bool,
) -> int:
    """Start a new execution like this one, from the beginning or from a node."""
    input = parse_input(given, read_json) if given else None

    async def conversation(client: Client) -> Object:
        return await client.rerun(
            execution_id,
            from_node=from_node,
            input=input,
            version=version,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
        )

    answer = talk(server, conversation)
    if dry_run:
        if as_json:
            print_json(answer)
        else:
            say(f"runs again: {_names(answer['willRun'])}")
            say(f"is kept: {_names(answer['kept'])}")
        return DONE
    if wait:
        return follow_to_end(server, answer["executionId"], as_json=as_json)
    return _tell(answer, answer["executionId"], f"is a rerun of {execution_id}", as_json=as_json)


@click.command(
    short_help="Send a signal.",
    epilog=examples(
        f'riven executions signal {_ID} paid \'{{"by": "card"}}\'',
        f"riven executions signal {_ID} paid @payment.json",
    ),
)
@execution_argument
@click.argument("name")
@click.argument("payload", required=False, metavar="[JSON|@FILE]")
@json_option
@server_options
def signal(server: Server, *, execution_id: str, name: str, payload: str | None, as_json: bool) -> int:
    """Send a signal, with null or JSON; it is kept until a node waits for it."""
    value = _value(payload, "the payload")
    answer = talk(server, lambda client: client.signal(execution_id, name, value))
    return _tell(answer, execution_id, f"has the signal {printable(name)}", as_json=as_json)


@click.command(
    short_help="Decide an approval.",
    epilog=examples(
        f"riven executions approve {_ID} ask approved",
        f"riven executions approve {_ID} ask rejected --comment 'too much'",
    ),
)
@execution_argument
@click.argument("path")
@click.argument("decision", type=click.Choice(["approved", "rejected"]))
@click.option("--comment", metavar="TEXT", help="Is kept with the decision.")
@click.option("--data", metavar="JSON|@FILE", help="What the form of the approval asks for.")
@json_option
@server_options
def approve(
    server: Server,
    *,
    execution_id: str,
    path: str,
    decision: str,
    comment: str | None,
    data: str | None,
    as_json: bool,
) -> int:
    """Decide an approval: its PATH is that of the node, as in 'ask' or 'each[3].ask'."""
    value = _value(data, "--data")

    async def conversation(client: Client) -> Object:
        return await client.approve(execution_id, path, decision, comment=comment, data=value)

    return _tell(
        talk(server, conversation), execution_id, f"{printable(path)} is {decision}", as_json=as_json
    )


COMMANDS: tuple[click.Command, ...] = (cancel, pause, resume, retry, rerun, signal, approve)


def _each(
    server: Server,
    execution_ids: tuple[str, ...],
    act: Callable[[Client, str], Awaitable[Object]],
    said: str,
    *,
    as_json: bool,
) -> int:
    """One that is refused holds up no other; then the exit code is 1."""
    answers: list[Object] = []

    async def conversation(client: Client) -> int:
        refusals = 0
        for each in execution_ids:
            try:
                answers.append(await act(client, each))
            except RefusedError as refused:
                if len(execution_ids) == 1:
                    raise
                complain(f"riven: {printable(each)}: {refusal_words(refused)}")
                refusals += 1
                continue
            if not as_json:
                _tell(answers[-1], each, said, as_json=False)
        return refusals

    refusals = talk(server, conversation)
    if as_json:
        print_json(answers if len(execution_ids) > 1 else answers[0])
    return FAILED if refusals else DONE


def _tell(answer: Object, execution_id: str, said: str, *, as_json: bool) -> int:
    if as_json:
        print_json(answer)
    else:
        status = answer.get("status")
        say(f"{printable(execution_id)}  {said}{f' ({status})' if status else ''}")
    return DONE


def _value(text: str | None, what: str) -> Json:
    if text is None:
        return None
    return read_json(text[1:]) if text.startswith("@") else parse_json(text, what)


def _names(paths: list[str]) -> str:
    return ", ".join(printable(path) for path in paths) or "nothing"
