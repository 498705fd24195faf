"""The command `riven`: which commands there are, and what becomes of their errors.

A command's module is loaded when the command is called, so that `riven validate` does not wait for what `riven run`
needs. Exit codes: 0 done, 1 the run failed or was canceled, 2 the document, its input or the call is wrong.
"""

import difflib
import importlib.metadata
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import click

from riven.cli.arguments import CallError
from riven.cli.launching import Launch
from riven.cli.lettering import printable
from riven.cli.output import (
    LINES_ONLY,
    OutputClosedError,
    OutputError,
    complain,
    prepare_streams,
    say,
    silence,
)
from riven.core.errors import RivenError

DONE, FAILED, INVALID = 0, 1, 2


_INTEGER: Final = re.compile(r"is not a valid integer(?: range)?")
"""In Click's words."""


class CommandError(RivenError):
    """It was called rightly and still cannot be done: one line that says what to do."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of the table: one line for the list, and how to load it."""

    summary: str
    load: Callable[[], click.Command]


class FunctionNames(Protocol):
    """The functions that documents may call: of them `riven validate` needs the names alone."""

    def names(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Loaders:
    """What a command may turn out to need, and is imported then."""

    functions: Callable[[Iterable[str]], FunctionNames]
    live: Callable[[], Callable[..., object]]
    """The screen of a terminal, `live.LiveScreen`: it draws with rich."""
    dev: Callable[[], Callable[..., None]]
    """What `riven dev` runs: told what was written, and how to say something."""
    launch: Launch


class LazyGroup(click.Group):
    def __init__(self, entries: Mapping[str, Entry], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - Click's signature
        entry = self._entries.get(cmd_name)
        return None if entry is None else _with_debug(entry.load())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - Click's signature
        """From the table: listing the commands loads none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self._entries.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in self._entries or name.startswith("-"):
            return super().resolve_command(ctx, args)
        if near := difflib.get_close_matches(name, self._entries, n=1):
            raise click.UsageError(f"there is no command '{printable(name)}'; did you mean '{near[0]}'?", ctx)
        if Path(name).suffix in {".yaml", ".yml", ".json"}:
            raise click.UsageError(f"say what to do with it, as in 'riven run {printable(name)}'", ctx)
        raise click.UsageError(
            f"there is no command '{printable(name)}'; there are {', '.join(self._entries)}", ctx
        )


def loaders() -> Loaders:
    """Those of the command that is running."""
    found = click.get_current_context().find_object(Loaders)
    assert found is not None, "main/command.py gives them"  # noqa: S101 - it does
    return found


def run_app(arguments: Sequence[str], entries: Mapping[str, Entry], given: Loaders) -> int:
    """Run the command and give its exit code. No exception of any kind leaves it but a forced end."""
    prepare_streams()
    app = _app(entries)
    try:
        code = app.main(list(arguments), prog_name="riven", standalone_mode=False, obj=given)
    except OutputClosedError:
        silence()
        return FAILED
    except OutputError as error:
        silence()
        complain(f"riven: {error}")
        return FAILED
    except CallError as error:
        complain(f"riven: {error}")
        return INVALID
    except CommandError as error:
        complain(f"riven: {error}")
        return error.code
    except click.ClickException as error:
        complain(_usage_line(error))
        return INVALID
    except click.Abort:
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last resort: one line instead of a traceback
        if "--debug" in arguments:
            complain(traceback.format_exc().rstrip())
        complain(
            f"riven: internal error: {printable(f'{type(error).__name__}: {error}')[:500]} "
            "(please report it, with what --debug adds)"
        )
        return FAILED
    return code if isinstance(code, int) else DONE


def _app(entries: Mapping[str, Entry]) -> LazyGroup:
    return LazyGroup(
        entries,
        name="riven",
        help="Workflows as documents: check them, run them here, serve them durably to many tenants.",
        epilog=examples(
            "riven validate refund.yaml",
            "riven run refund.yaml --input amount=120 --input orderId=A7",
            "riven dev",
            "riven apply refund.yaml && riven start refund --input @order.json --wait",
        ),
        callback=help_if_alone,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Show the version and exit.",
            ),
            click.Option(
                ["--no-color"],
                is_flag=True,
                expose_value=False,
                callback=_colour,
                help="Never use colours; as NO_COLOR=1 does.",
            ),
            click.Option(["--terminal"], envvar="TERM", hidden=True, expose_value=False, callback=_terminal),
            click.Option(
                ["--no-color-env"], envvar="NO_COLOR", hidden=True, expose_value=False, callback=_colour
            ),
        ],
    )


def examples(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def help_if_alone() -> None:
    """What a group does that is called without one of its commands."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        say(context.get_help())


def _version(context: click.Context, _: click.Parameter, wanted: object) -> None:
    if wanted:
        say(f"riven {importlib.metadata.version('riven')}")
        context.exit(DONE)


def _colour(context: click.Context, _: click.Parameter, value: object) -> None:
    if value:
        context.color = False


def _terminal(context: click.Context, _: click.Parameter, kind: object) -> None:
    if kind == "dumb":
        context.color = False
        context.meta[LINES_ONLY] = True


def _with_debug(command: click.Command) -> click.Command:
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _with_debug(each)
    if not any(parameter.name == "debug" for parameter in command.params):
        command.params.append(click.Option(["--debug"], is_flag=True, hidden=True, expose_value=False))
    return command


def _usage_line(error: click.ClickException) -> str:
    """Click says it in three lines; one is enough, if it names the next step."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "riven"
    text = printable(" ".join(error.format_message().split())).rstrip(".")
    text = _INTEGER.sub("is not a whole number", text[:1].lower() + text[1:])
    hint = "" if context is None else f" (see '{path} --help')"
    return f"{path}: {text}{hint}"
