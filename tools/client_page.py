"""The reference of what Python programs import: the client's methods and `enqueue`, from their signatures."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from riven.client.http import Client
from riven.intake.enqueue import enqueue

_COMMENT = re.compile(r"\s*\n\s*")


def client_methods() -> str:
    lines = ["| method | |", "|---|---|"]
    for name, method in vars(Client).items():
        if not name.startswith("_") and inspect.isfunction(method):
            lines.append(f"| `{_signature(name, method)}` | {_about(method)} |")
    return "\n".join(lines)


def enqueue_signature() -> str:
    parts = "".join(f"    {each},\n" for each in _parameters(enqueue))
    returned = inspect.signature(enqueue).return_annotation
    return f"```text\nawait enqueue(\n{parts}) -> {_name(returned)}\n```"


def _signature(name: str, method: Callable[..., Any]) -> str:
    told = inspect.isasyncgenfunction(method)
    call = f"{name}({', '.join(_parameters(method))})"
    return f"async for ... in {call}" if told else f"await {call}"


def _parameters(function: Callable[..., Any]) -> Iterator[str]:
    """As they are written in a call; defaults shown where they say something."""
    starred = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        if parameter.kind is parameter.VAR_KEYWORD:
            yield f"**{parameter.name}"
        elif parameter.default is parameter.empty:
            yield parameter.name
        else:
            yield f"{parameter.name}={parameter.default!r}"


def _about(method: Callable[..., Any]) -> str:
    paragraphs = (inspect.getdoc(method) or "").split("\n\n")
    return _COMMENT.sub(" ", paragraphs[0]).replace("|", "\\|")


def _name(annotation: object) -> str:
    return getattr(annotation, "__name__", str(annotation))
