"""JSON text to a tree: RFC 8259 to the letter, with the place of every value."""

import re
from typing import Final

from riven.documents.builder import Builder, UnreadableError
from riven.documents.places import shorten
from riven.documents.scalars import NumberRangeError, decimal, integer
from riven.wire.document import Json

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'"([^"\\\x00-\x1f]*+)"')
_STRING: Final = re.compile(r'"((?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+)"')
_COLON: Final = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_NUMBER: Final = re.compile(
    r"(-?(?:0|[1-9][0-9]*+))((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![0-9A-Za-z_.+-])", re.ASCII
)
_CONSTANT: Final = re.compile(r"(true|false|null)(?![0-9A-Za-z_])", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[+-]?(?:NaN|Infinity)\b")
_NEXT: Final = re.compile(r"[ \t\n\r]*([,}\]]?)[ \t\n\r]*")
_WORD: Final = re.compile(r"[^\s,\]}:\[{]{1,40}|.?", re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))"
)
_SIMPLE: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_INSTEAD: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null", "nil": "null"}


def read_json(text: str, builder: Builder) -> None:
    """Raises UnreadableError where nothing more can be made of the text."""
    closers: list[str] = []
    position = _value(text, _blank(text, 0), builder, closers)
    fresh = bool(closers)  # the innermost container was opened just now
    while closers:
        closer = closers[-1]
        if fresh and text.startswith(closer, position):
            position, sign = position + 1, closer
        elif fresh:
            sign = ","
        else:
            found = _NEXT.match(text, position)
            sign = found[1] if found else ""
            position = found.end() if found else position
        if sign == closer:
            builder.close()
            closers.pop()
            fresh = False
            continue
        if sign != ",":
            raise _missing(text, position, closer, sign)
        if closer == "}":
            position = _key(text, position, builder)
        elif not fresh and text.startswith("]", position):
            raise _bad(text, position, "delete the comma before this bracket")
        depth = len(closers)
        position = _value(text, position, builder, closers)
        fresh = len(closers) > depth
    position = _blank(text, position)
    if position < len(text):
        raise _bad(text, position, "the JSON is already complete before this; delete what follows")


def _blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _key(text: str, position: int, builder: Builder) -> int:
    found = _PLAIN.match(text, position)
    flawed = False
    if found is not None:
        key, end = found[1], found.end()
    elif text.startswith('"', position):
        flaws = len(builder.flaws)
        key, end = _string(text, position, builder, is_key=True)
        flawed = len(builder.flaws) > flaws
    elif text.startswith("}", position):
        raise _bad(text, position, "delete the comma before this brace")
    else:
        raise _bad(text, position, "here the name of a field must stand, in double quotes")
    colon = _COLON.match(text, end)
    if colon is None:
        raise _bad(text, _blank(text, end), f"after the name {shorten(key)!r} a : is missing")
    if flawed:
        builder.drop(position)
    else:
        builder.key(key, position)
    return colon.end()


def _value(text: str, position: int, builder: Builder, closers: list[str]) -> int:
    """Reads a value, or opens a container, and returns where to go on."""
    sign = text[position : position + 1]
    if sign == '"':
        found = _PLAIN.match(text, position)
        value, end = (found[1], found.end()) if found else _string(text, position, builder)
        builder.scalar(value, position)
        return end
    if sign in ("{", "["):
        builder.open({} if sign == "{" else [], position)
        closers.append("}" if sign == "{" else "]")
        return _blank(text, position + 1)
    if number := _NUMBER.match(text, position):
        try:
            builder.scalar(decimal(number[0]) if number[2] else integer(number[1]), position)
        except NumberRangeError as error:
            builder.flaw(error.code, str(error), position, spoiled=True)
            builder.scalar(0, position)
        return number.end()
    if constant := _CONSTANT.match(text, position):
        builder.scalar(_CONSTANTS[constant[1]], position)
        return constant.end()
    if not_finite := _NOT_FINITE.match(text, position):
        builder.flaw(
            "not_finite",
            "NaN and Infinity are no numbers that JSON has; use a finite one",
            position,
            spoiled=True,
        )
        builder.scalar(0, position)
        return not_finite.end()
    raise _no_value(text, position)


def _string(text: str, position: int, builder: Builder, *, is_key: bool = False) -> tuple[str, int]:
    """A string with escapes in it."""
    found = _STRING.match(text, position)
    if found is None:
        raise _broken_string(text, position)
    halves = False

    def decode(escape: re.Match[str]) -> str:
        nonlocal halves
        high, low, code, simple = escape.groups()
        if high is not None:
            return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
        if code is not None:
            char = chr(int(code, 16))
            if "\ud800" <= char <= "\udfff":
                halves = True
                return "\N{REPLACEMENT CHARACTER}"
            return char
        return _SIMPLE.get(simple, simple)

    value = _ESCAPE.sub(decode, found[1])
    if halves:
        builder.flaw(
            "lone_surrogate",
            "half of a surrogate pair is no character; write the whole pair",
            position,
            spoiled=not is_key,
        )
    if "\0" in value:
        builder.flaw("nul_character", "take the NUL character out of this text", position, spoiled=not is_key)
        value = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return value, found.end()


def _broken_string(text: str, position: int) -> UnreadableError:
    stop = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+').match(text, position)
    end = stop.end() if stop else position
    char = text[end : end + 1]
    if char == "\\":
        return _bad(text, end, "a backslash is written twice in JSON: \\\\")
    if char in ("\n", "\r", ""):
        return _bad(text, position, "the text that begins here is not closed by a double quote on its line")
    return _bad(text, end, "a tab or control character in a text is written as an escape: \\t, \\u0007")


def _no_value(text: str, position: int) -> UnreadableError:
    found = _WORD.match(text, position)
    word = found[0] if found else ""
    if not word:
        return _bad(text, position, "the text ends too early; a value is missing")
    if word in _INSTEAD:
        return _bad(text, position, f"{word} is written {_INSTEAD[word]} in JSON")
    if word[0] in "+-.0123456789":
        return _bad(text, position, f"{shorten(word)} is not how JSON writes a number")
    if word[0] in ",]}:":
        return _bad(text, position, f"a value is missing before {word[0]}")
    return _bad(text, position, f"{shorten(word)} is no value; a text stands in double quotes")


def _missing(text: str, position: int, closer: str, sign: str) -> UnreadableError:
    if sign:
        opener = "{" if closer == "}" else "["
        return _bad(text, position - 1, f"what {opener} opened is closed by {closer}, not by {sign}")
    if position >= len(text):
        return _bad(text, position, f"the text ends too early; a {closer} is missing")
    return _bad(text, position, f"a comma, or {closer}, is missing before this")


def _bad(text: str, position: int, reason: str) -> UnreadableError:
    return UnreadableError("json_syntax", f"this is no JSON: {reason}", min(position, len(text)))
