"""What people write after an option: input, signals, decisions, secrets, durations."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from riven.cli.lettering import clipped, printable
from riven.core.errors import RivenError
from riven.wire.document import Json
from riven.wire.durations import parse_duration

Decision: TypeAlias = Literal["approved", "rejected"]
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)


class CallError(RivenError):
    """The command was called wrongly: one line that says what to do. Exit code 2."""

    def __init__(self, message: str, *, path: str = "", code: str = "usage") -> None:
        self.path = path
        """What of the run it is about, as in `input`, for `--json`."""
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Pair:
    name: str
    value: str


def parse_json(text: str, what: str, *, path: str = "") -> Json:
    """Exactly JSON: no NaN, no number beyond 64 bits, no key twice.

    Raises:
        CallError: says what is wrong, and where.
    """
    try:
        return json.loads(
            text,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_number,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        raise CallError(
            f"{what} is no JSON: {error.msg[0].lower()}{error.msg[1:]} at line {error.lineno}, column {error.colno}",
            path=path,
            code="invalid_json",
        ) from None
    except RecursionError:
        raise CallError(f"{what} is nested too deeply", path=path, code="invalid_json") from None
    except _JsonError as error:
        raise CallError(f"{what}: {error}", path=path, code="invalid_json") from None


def parse_input(written: Iterable[str], read_file: Callable[[str], Json]) -> dict[str, Json]:
    """All `--input` together; what comes later replaces the same key of what came before.

    `read_file` reads what `@file` names.
    """
    merged: dict[str, Json] = {}
    for text in written:
        if text.startswith("@"):
            value = read_file(text[1:])
            if not isinstance(value, dict):
                raise _no_object(f"--input {_short(text)} holds", value)
            merged.update(value)
        elif text.lstrip().startswith("{"):
            merged.update(parse_json(text, "--input", path="input"))
        elif "=" in text:
            key, _, value = text.partition("=")
            if not key:
                raise CallError(f"--input {_short(text)}: write a name before the '='", path="input")
            merged[key] = _json_or_text(value, f"--input {_short(key)}")
        elif (value := _json_or_text(text, "--input")) is not text:
            raise _no_object("--input is", value)
        else:
            raise CallError(f"--input {_short(text)}: write a JSON object, @file or name=value", path="input")
    return merged


def _no_object(where: str, value: Json) -> CallError:
    kind = {list: "a list", str: "text", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )
    return CallError(f"{where} {kind}; the input is a JSON object", path="input", code="invalid_input")


def parse_pairs(written: Iterable[str], option: str, example: str) -> list[Pair]:
    pairs = []
    for text in written:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise CallError(f"{option} {_short(text)}: write {example}")
        pairs.append(Pair(name.strip(), value))
    return pairs


def parse_signals(written: Iterable[str]) -> list[tuple[str, Json]]:
    return [
        (pair.name, parse_json(pair.value, f"--signal {_short(pair.name)}"))
        for pair in parse_pairs(written, "--signal", 'name=json, as in --signal paid=\'{"by": "card"}\'')
    ]


def parse_decisions(written: Iterable[str]) -> dict[str, Decision]:
    decisions: dict[str, Decision] = {}
    for pair in parse_pairs(written, "--approve", "path=approved or path=rejected"):
        if pair.name in decisions:
            raise CallError(f"--approve {_short(pair.name)} is given twice; decide once")
        match pair.value:
            case "approved" | "rejected":
                decisions[pair.name] = pair.value
            case other:
                raise CallError(
                    f"--approve {_short(pair.name)}: the decision is approved or rejected, not {_short(other)}"
                )
    return decisions


def parse_secrets(written: Iterable[str]) -> Mapping[str, str]:
    """Their values never appear in a message."""
    secrets: dict[str, str] = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not equals:
            raise CallError("--secret: write name=value")
        if not _SECRET_NAME.fullmatch(name):
            raise CallError("--secret: a name has letters, digits and _, and begins with no digit")
        secrets[name] = value
    return secrets


def parse_timeout(written: str | None) -> int | None:
    """Milliseconds."""
    if written is None:
        return None
    try:
        found = parse_duration(written)
    except ValueError as error:
        raise CallError(f"--timeout: {error}") from None
    if found == 0:
        raise CallError("--timeout: give it some time, as in 30s or 10m")
    return found


class _JsonError(Exception):
    pass


def _json_or_text(text: str, what: str) -> Json:
    try:
        json.loads(text, parse_constant=_no_constant, parse_int=str, parse_float=str)
    except (ValueError, _JsonError):
        return text
    except RecursionError:
        pass
    return parse_json(text, what, path="input")


def _no_constant(text: str) -> NoReturn:
    raise _JsonError(f"{text} is no JSON value")


def _integer(text: str) -> int:
    if len(text) > 20 or not _SMALLEST <= (value := int(text)) <= _LARGEST:
        raise _JsonError(f"the integer {clipped(text, 24)} is beyond 64 bits; write it as text")
    return value


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _JsonError(f"the number {clipped(text, 24)} is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _JsonError(f"the key {_short(key)} stands twice in one object")
            seen.add(key)
    return found


def _short(text: str) -> str:
    return f"'{clipped(printable(text), 60)}'"
