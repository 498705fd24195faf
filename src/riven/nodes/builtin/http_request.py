"""`http_request`: one HTTP request and its response."""

import base64
import email.utils
import re
import time
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias
from urllib.parse import urlencode

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema, model_validator

from riven.core.errors import ErrorClass
from riven.nodes.contract import Config, NodeContext, NodeError, NodeResult, NodeType
from riven.nodes.fields import Text, text_of
from riven.nodes.http_body import BodyError, NotJsonError, is_json, json_of_body, text_of_body
from riven.nodes.http_client import HttpAnswer, HttpCall, HttpClient
from riven.nodes.http_headers import header_fault, repeated
from riven.wire.document import Json

_WITHOUT_KEY = frozenset({"GET", "HEAD", "OPTIONS"})
_RETRIED = frozenset({408, 425, 429})
_LONGEST_PAUSE = 86_400.0
"""A server that asks for more than a day is not waited for any longer than that."""
_EXCERPT = 200
_EXCERPT_FROM = 16_384


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _status_ranges(value: object) -> tuple[tuple[int, int], ...]:
    entries = value if isinstance(value, (list, tuple)) else [value]
    if not entries:
        raise ValueError("name at least one status")
    return tuple(map(_status_range, entries))


def _status_range(entry: object) -> tuple[int, int]:
    found = re.fullmatch(r"\s*([1-5][0-9]{2})\s*(?:-\s*([1-5][0-9]{2})\s*)?", str(entry), re.ASCII)
    if isinstance(entry, bool) or not isinstance(entry, (str, int)) or found is None:
        raise ValueError(f"{str(entry)[:40]!r} is no status: write 404, '200-299', or a list of these")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise ValueError(f"the range {entry!r} is empty")
    return first, last


def _fields(value: object) -> tuple[tuple[str, str], ...]:
    """Query or form fields: scalars, lists of them (the field repeated), null (the field left out)."""
    if not isinstance(value, Mapping):
        raise ValueError("write a mapping of names to values")  # noqa: TRY004 - pydantic reads it
    pairs: list[tuple[str, str]] = []
    for name, entry in value.items():
        for each in entry if isinstance(entry, (list, tuple)) else [entry]:
            if isinstance(each, (Mapping, list, tuple)):
                raise ValueError(  # noqa: TRY004 - pydantic reads it
                    f"the value of {name!r} must be text, a number, a boolean, null, or a list of these"
                )
            if each is not None:
                pairs.append((str(name), text_of(each)))
    return tuple(pairs)


def _headers(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        fault = header_fault(name, text)
        if fault is not None:
            raise ValueError(fault)
    twice = repeated(value)
    if twice is not None:
        raise ValueError(f"the header {twice} is written twice")
    return value


_STATUS_SCHEMA = {
    "anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[1-5][0-9]{2}(-[1-5][0-9]{2})?$"}]
}
_FIELDS_SCHEMA = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean", "null", "array"]},
}
Statuses: TypeAlias = Annotated[
    tuple[tuple[int, int], ...],
    PlainValidator(_status_ranges),
    WithJsonSchema(
        {"anyOf": [*_STATUS_SCHEMA["anyOf"], {"type": "array", "items": _STATUS_SCHEMA, "minItems": 1}]}
    ),
]
Fields: TypeAlias = Annotated[
    tuple[tuple[str, str], ...], PlainValidator(_fields), WithJsonSchema(_FIELDS_SCHEMA)
]


class Basic(Config):
    username: Text
    password: Text


class Auth(Config):
    basic: Basic | None = Field(default=None, description="User name and password.")
    bearer: Text | None = Field(default=None, description="A token.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.basic is None) == (self.bearer is None):
            raise ValueError("write exactly one of `basic` and `bearer`")
        if self.basic is not None and ":" in self.basic.username:
            raise ValueError("a user name cannot have a colon in it")
        return self

    def header(self) -> str:
        if self.basic is not None:
            pair = f"{self.basic.username}:{self.basic.password}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        return f"Bearer {(self.bearer or '').strip()}"


class HttpRequestConfig(Config):
    url: str = Field(min_length=1, max_length=8_192, description="http:// or https://, without a user in it.")
    method: Annotated[
        Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], BeforeValidator(_upper)
    ] = Field(default="GET", description="The HTTP method.")
    query: Fields = Field(
        default=(), description="Added to the URL; a list repeats its field, null leaves it out."
    )
    headers: Annotated[dict[str, Text], AfterValidator(_headers)] = Field(
        default_factory=dict, description="Header fields; those that frame the message cannot be set."
    )
    json_: Any = Field(default=None, alias="json", description="A body, sent as JSON.")
    form: Fields | None = Field(default=None, description="A body of form fields.")
    text: Text | None = Field(default=None, description="A body of plain text.")
    auth: Auth | None = Field(default=None, description="Credentials; not sent on to another origin.")
    follow_redirects: bool = Field(default=True, strict=True, description="At most 5, each checked anew.")
    ok_status: Statuses = Field(
        default=((200, 399),),
        description="Statuses that are no failure: 404, '200-299', or a list of these.",
        json_schema_extra={"default": "200-399"},  # as it is written
    )
    parse: Literal["auto", "json", "text"] = Field(
        default="auto", description="`auto`: JSON where the response says that it is JSON, text otherwise."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        bodies = [name for name, field in _BODIES.items() if field in self.model_fields_set]
        if len(bodies) > 1:
            raise ValueError(f"write only one of `json`, `form` and `text`, not {' and '.join(bodies)}")
        if self.auth is not None and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("write either `auth` or a header Authorization")
        return self

    def is_ok(self, status: int) -> bool:
        return any(first <= status <= last for first, last in self.ok_status)


_BODIES = {"json": "json_", "form": "form", "text": "text"}


class HttpRequest(NodeType[HttpRequestConfig]):
    """Needs the service `HttpClient`."""

    type = "http_request"
    title = "HTTP request"
    description = "Sends an HTTP request and gives status, headers and body of the response."
    category = "Network"
    icon = "globe"
    config = HttpRequestConfig
    output: ClassVar = {
        "type": "object",
        "required": ["status", "headers", "body", "elapsedMs"],
        "properties": {
            "status": {"type": "integer"},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "body": {},
            "elapsedMs": {"type": "integer", "minimum": 0},
        },
    }
    default_timeout: ClassVar[float | None] = 30.0

    async def run(self, config: HttpRequestConfig, context: NodeContext) -> NodeResult:
        started = time.perf_counter()
        answer = await context.service(HttpClient).send(_call(config, context.idempotency_key))
        elapsed = round((time.perf_counter() - started) * 1_000)
        if not config.is_ok(answer.status):
            raise _refused(answer, context)
        return NodeResult(
            {
                "status": answer.status,
                "headers": dict(answer.headers),
                "body": _parsed(answer, config.parse),
                "elapsedMs": elapsed,
            }
        )


def _call(config: HttpRequestConfig, idempotency_key: str) -> HttpCall:
    headers = dict(config.headers)
    given = {name.lower() for name in headers}
    body, content_type = _body(config)
    if content_type is not None and "content-type" not in given:
        headers["Content-Type"] = content_type
    if config.auth is not None:
        headers["Authorization"] = config.auth.header()
    if config.method not in _WITHOUT_KEY and "idempotency-key" not in given:
        headers["Idempotency-Key"] = idempotency_key
    return HttpCall(
        method=config.method,
        url=_with_query(config.url, config.query),
        headers=tuple(headers.items()),
        body=body,
        follow_redirects=config.follow_redirects,
    )


def _body(config: HttpRequestConfig) -> tuple[bytes | None, str | None]:
    """What is sent, and as what; null in `form` and `text` is no body, in `json` it is JSON."""
    if config.text is not None:
        return config.text.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    if config.form is not None:
        return urlencode(config.form, errors="replace").encode(), "application/x-www-form-urlencoded"
    if "json_" not in config.model_fields_set:
        return None, None
    try:
        return orjson.dumps(config.json_), "application/json"
    except orjson.JSONEncodeError as error:
        raise NodeError(ErrorClass.VALIDATION_ERROR, f"`json` cannot be written as JSON: {error}") from None


def _with_query(url: str, query: tuple[tuple[str, str], ...]) -> str:
    if not query:
        return url
    base, _, _ = url.strip().partition("#")
    separator = "&" if "?" in base else "?"
    return f"{base}{separator}{urlencode(query, errors='replace')}"


def _parsed(answer: HttpAnswer, parse: str) -> Json:
    content_type = answer.headers.get("content-type", "")
    try:
        if parse == "json" or (parse == "auto" and is_json(content_type)):
            return json_of_body(answer.body, content_type)
    except NotJsonError as error:
        if parse == "json":
            raise NodeError(ErrorClass.VALIDATION_ERROR, f"{answer.shown}: the response {error}") from None
    except BodyError as error:
        raise NodeError(ErrorClass.VALIDATION_ERROR, f"{answer.shown}: the response {error}") from None
    return text_of_body(answer.body, content_type)


def _refused(answer: HttpAnswer, context: NodeContext) -> NodeError:
    text = text_of_body(answer.body[:_EXCERPT_FROM], answer.headers.get("content-type", ""))
    # Before it is cut: half a secret would not be found any more.
    excerpt = " ".join("".join(c if c.isprintable() else " " for c in context.redact(text)).split())
    shown = f": {excerpt[:_EXCERPT]}{'…' if len(excerpt) > _EXCERPT else ''}" if excerpt else ""
    reason = f" {answer.reason}" if answer.reason else ""
    message = f"{answer.shown} answered {answer.status}{reason}{shown}"
    pause = _retry_after(answer.headers.get("retry-after"), context.clock.now())
    if answer.status >= 500:
        return NodeError(ErrorClass.HTTP_SERVER_ERROR, message, retry_after=pause)
    retryable = answer.status in _RETRIED
    return NodeError(
        ErrorClass.HTTP_CLIENT_ERROR, message, retryable=retryable, retry_after=pause if retryable else None
    )


def _retry_after(value: str | None, now: int) -> float | None:
    """Seconds; the header has seconds or an HTTP date, and `now` is in milliseconds since the epoch."""
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        return min(float(text), _LONGEST_PAUSE)
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return min(max(moment - now / 1_000, 0.0), _LONGEST_PAUSE)
