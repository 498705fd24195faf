"""Where `riven dev` keeps its data, and what it says of itself there."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from riven.cli.arguments import CallError
from riven.cli.lettering import printable

DEV_JSON = "dev.json"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class DevServer:
    """A `riven dev` that runs, or ended without a chance to say so."""

    url: str
    api_key: str
    workspace_id: str


def data_directory_option(about: str) -> Callable[[F], F]:
    """`--data-dir`, as the parameter `data_dir`; it knows the user's data directory without being given."""

    def add(command: F) -> F:
        told = click.option(
            "--data-home", envvar="XDG_DATA_HOME", hidden=True, expose_value=False, callback=_home
        )
        given = click.option("--data-dir", type=click.Path(path_type=Path), metavar="DIRECTORY", help=about)
        return told(given(command))

    return add


def default_directory() -> Path:
    """Of the user who runs the command.

    Raises:
        CallError: this user has no home.
    """
    home = click.get_current_context().meta.get(_DATA_HOME)
    if home is not None:
        return Path(home) / "riven"
    try:
        user = Path.home()
    except RuntimeError:
        raise CallError(
            "there is no home directory to keep data in; choose a directory with --data-dir"
        ) from None
    shared = (
        user / "Library" / "Application Support" if sys.platform == "darwin" else user / ".local" / "share"
    )
    return shared / "riven"


def read_dev_json(directory: Path) -> DevServer | None:
    """None where there is none.

    Raises:
        CallError: it cannot be read.
    """
    path = directory.expanduser() / DEV_JSON
    try:
        said = json.loads(path.read_bytes())
        return DevServer(str(said["url"]), str(said["apiKey"]), str(said["workspaceId"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CallError(f"{printable(str(path))} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise CallError(f"{printable(str(path))} is damaged; start 'riven dev' anew") from None


_DATA_HOME = "riven.data_home"


def _home(context: click.Context, _: click.Parameter, value: object) -> None:
    """A relative one counts for nothing, as the standard for it says."""
    if isinstance(value, str) and Path(value).is_absolute():
        context.meta[_DATA_HOME] = value
