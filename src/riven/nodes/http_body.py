"""Bodies of responses: unpacked within a bound, and read as text or JSON."""

import codecs
import json
import re
import zlib
from collections.abc import AsyncIterable

import orjson

from riven.core.errors import RivenError
from riven.nodes.json_values import LARGEST, MAX_DEPTH, SMALLEST, deeper_than
from riven.wire.document import Json

_NO_CHARSETS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})
"""Text codecs of Python that are no character sets, and some of which take quadratic time."""
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})


class BodyError(RivenError):
    """A body cannot be used; the text goes on after "the response"."""


class NotJsonError(BodyError):
    pass


class BodyTooLargeError(BodyError):
    pass


class BodyBrokenError(BodyError):
    """It ended early, or is not what it says: trying again may help."""


async def read_body(chunks: AsyncIterable[bytes], encoding: str, limit: int) -> bytes:
    """The unpacked body. `encoding`: the Content-Encoding. At most `limit` bytes come in and at most `limit` go out."""
    coding = encoding.strip().lower()
    if coding in _PLAIN:
        unpacked: _Unpacked | None = None
    elif coding in _GZIP or coding == "deflate":
        unpacked = _Unpacked(coding in _GZIP, limit)
    else:
        raise BodyError(f"is packed as {coding[:40]!r}, which was not asked for")
    plain = bytearray()
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > limit:
            raise BodyTooLargeError(_too_large(limit))
        if unpacked is None:
            plain += chunk
        else:
            unpacked.feed(chunk)
    return bytes(plain) if unpacked is None else unpacked.end()


def _too_large(limit: int) -> str:
    return f"is larger than {limit:,} bytes"


class _Unpacked:
    """gzip and deflate, a bounded piece at a time: a few kilobytes can unpack to gigabytes."""

    def __init__(self, gzip: bool, limit: int) -> None:  # noqa: FBT001 - two codings, told apart once
        self._gzip = gzip
        self._limit = limit
        self._out = bytearray()
        self._first = b""
        self._stream = zlib.decompressobj(31) if gzip else None
        self._empty = True

    def feed(self, data: bytes) -> None:
        self._empty = self._empty and not data
        if self._stream is None:
            data = self._first + data
            if len(data) < 2:
                self._first = data
                return
            # Some servers send the bare stream under the name of deflate, without the header of zlib.
            has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(15 if has_header else -15)
        try:
            self._unpack(self._stream, data)
        except zlib.error as error:
            raise BodyBrokenError(f"cannot be unpacked: {error}") from None

    def _unpack(self, stream: "zlib._Decompress", data: bytes) -> None:
        while data:
            if stream.eof:
                if not self._gzip or not data.startswith(b"\x1f"):
                    return  # padding after the end
                stream = self._stream = zlib.decompressobj(31)
            self._out += stream.decompress(data, self._limit - len(self._out) + 1)
            if len(self._out) > self._limit:
                raise BodyTooLargeError(f"{_too_large(self._limit)} when unpacked")
            data = stream.unused_data

    def end(self) -> bytes:
        if not self._empty and (self._stream is None or not self._stream.eof):
            raise BodyBrokenError("ended in the middle of its packed body")
        return bytes(self._out)


def is_json(content_type: str) -> bool:
    """Whether a media type is JSON: `application/json`, `application/problem+json`, `text/json`."""
    media = content_type.partition(";")[0].strip().lower()
    return media in {"application/json", "text/json"} or media.endswith("+json")


def text_of_body(body: bytes, content_type: str) -> str:
    """Text in its own charset, UTF-8 where it says none; what cannot be read, or kept, becomes U+FFFD."""
    try:
        text = body.decode(_charset(content_type), "replace")
    except (LookupError, ValueError):  # a codec that is not of text, such as `hex`
        text = body.decode("utf-8-sig", "replace")
    return text.replace("\0", "\ufffd")


def _charset(content_type: str) -> str:
    found = re.search(r"charset\s*=\s*\"?([A-Za-z0-9._:+-]{1,40})", content_type, re.ASCII | re.IGNORECASE)
    try:
        known = codecs.lookup(found[1]).name.replace("_", "-") if found is not None else "utf-8"
    except LookupError:
        known = "utf-8"
    return "utf-8-sig" if known == "utf-8" or known in _NO_CHARSETS else known


def json_of_body(body: bytes, content_type: str) -> Json:
    """JSON with integers within 64 bits and of bounded depth; null for an empty body.

    Raises:
        NotJsonError: it is not JSON.
        BodyError: it is JSON of a kind that cannot be passed on.
    """
    if not body.strip():
        return None
    if _charset(content_type) == "utf-8-sig":
        text = body.removeprefix(codecs.BOM_UTF8)
    else:
        text = text_of_body(body, content_type).encode("utf-8", "replace")
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NotJsonError(f"is not JSON: {error}") from None
    if deeper_than(value, MAX_DEPTH):
        raise BodyError(f"is JSON of more than {MAX_DEPTH} levels")
    if _LONG_NUMBER.search(text):
        json.loads(text, parse_int=_bounded)  # the fast parser makes a float of what is too long, silently
    return value


def _bounded(digits: str) -> int:
    if len(digits) > 20 or not SMALLEST <= int(digits) <= LARGEST:
        raise BodyError("holds an integer beyond 64 bits; `parse: text` takes it as it is")
    return 0
