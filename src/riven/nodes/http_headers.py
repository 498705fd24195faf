"""Header fields of a request: what an author may set, what the client adds, what a redirect takes away."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Fields: TypeAlias = Sequence[tuple[str, str]]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SPEAKS_OF_CREDENTIALS = re.compile(r"auth|cookie|token|secret|password|api-?key|session|signature")
_OURS = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""They say how the message is framed or where it goes: set by an author, they would let one request smuggle another."""


def header_fault(name: str, value: str) -> str | None:
    """Why this field may not be sent; None when it may."""
    if not _TOKEN.fullmatch(name):
        return f"{name[:80]!r} is no header name"
    if name.lower() in _OURS or name.lower().startswith("proxy-"):
        return f"the header {name} cannot be set: it follows from the request"
    if _CONTROL.search(value):
        return f"the header {name} has a line break or another control character in its value"
    return None


def repeated(names: Iterable[str]) -> str | None:
    """The first name that another spells too, in whatever letters."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def complete(fields: Fields, authority: str, body: bytes | None, method: str) -> list[tuple[bytes, bytes]]:
    """The fields as they are sent: the author's, and what they leave open."""
    given = {name.lower() for name, _ in fields}
    ours = [
        ("Host", authority),
        ("User-Agent", "riven"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip, deflate"),
    ]
    if body is not None or method in {"POST", "PUT", "PATCH"}:
        ours.append(("Content-Length", str(len(body or b""))))
    all_fields = [*(each for each in ours if each[0].lower() not in given), *fields]
    return [(name.encode(), _value_bytes(value)) for name, value in all_fields]


def without_credentials(fields: Fields) -> list[tuple[str, str]]:
    """What another origin may see: nothing whose name speaks of credentials."""
    return [each for each in fields if not _SPEAKS_OF_CREDENTIALS.search(each[0].lower())]


def without_body(fields: Fields) -> list[tuple[str, str]]:
    """When a redirect has turned the request into a GET."""
    return [each for each in fields if not each[0].lower().startswith(("content-", "idempotency-key"))]


def _value_bytes(value: str) -> bytes:
    text = value.strip()
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
