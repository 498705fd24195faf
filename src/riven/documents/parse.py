"""Text to a tree: bytes to characters, YAML or JSON, and what is wrong with either.

A text that begins as JSON objects do, with a brace and a double quote, is JSON and held to JSON's rules; everything
else is YAML, `{name: x}` included.
"""

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from riven.documents.builder import MAX_SIZE, Builder, Flaw, UnreadableError
from riven.documents.json_text import read_json
from riven.documents.places import Lines, Tree
from riven.documents.yaml_text import read_yaml

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_JSON: Final = re.compile(r'[ \t\n\r]*[{\[][ \t\n\r]*["{\[\]}]')
_TAG_DIRECTIVE: Final = re.compile(r"^%TAG", re.MULTILINE)
_EMPTY: Final = "the document is empty; begin with `name:` and `nodes:`"
_SHOWN_STEPS: Final = 8


@dataclass(frozen=True, slots=True)
class Parsed:
    """`tree` is None when the text cannot be read at all; `flaws` then says why."""

    tree: Tree | None
    lines: Lines
    flaws: tuple[Flaw, ...] = ()


def parse(text: str | bytes) -> Parsed:
    """Never raises for what the text holds."""
    if len(text) > MAX_SIZE:
        return _refused("too_large", "a document may have at most 4 MiB; split it by `call`")
    decoded = _decode(text) if isinstance(text, bytes) else text
    if isinstance(decoded, Parsed):
        return decoded
    decoded = decoded.removeprefix("\ufeff")
    if isinstance(text, str) and not decoded.isascii():
        try:
            size = len(decoded.encode())
        except UnicodeEncodeError:
            size = 0  # told below, as what it is
        if size > MAX_SIZE:
            return _refused("too_large", "a document may have at most 4 MiB; split it by `call`")
    if decoded.isspace():
        return _refused("empty_document", _EMPTY)
    lines = Lines(decoded)
    if (found := _FORBIDDEN.search(decoded)) is not None:
        return Parsed(None, lines, (_forbidden(found),))
    if (
        directive := _TAG_DIRECTIVE.search(decoded)
    ) is not None:  # libyaml takes quadratic time for many of them
        message = "leave out %TAG; tags are not used here"
        return Parsed(None, lines, (Flaw("yaml_tag", message, (), directive.start()),))
    return _read(read_json if _JSON.match(decoded) else read_yaml, lines)


def _read(read: Callable[[str, Builder], None], lines: Lines) -> Parsed:
    builder = Builder(lines)
    try:
        read(lines.text, builder)
    except UnreadableError as error:
        where = () if error.code == "yaml_syntax" else builder.here()[:_SHOWN_STEPS]
        fatal = Flaw(error.code, error.message, where, error.offset)
        return Parsed(None, lines, (*builder.flaws, fatal))
    if builder.root is None:
        return _refused("empty_document", _EMPTY)
    tree = builder.tree()
    if not isinstance(tree.value, dict):
        message = "a document is a mapping; begin with `name:` and `nodes:`"
        return Parsed(None, lines, (*builder.flaws, Flaw("not_a_mapping", message, (), tree.start)))
    return Parsed(tree, lines, tuple(builder.flaws))


def _forbidden(found: re.Match[str]) -> Flaw:
    char = found[0]
    if char == "\0":
        return Flaw("nul_character", "take the NUL character out of the text", (), found.start())
    if "\ud800" <= char <= "\udfff":
        return Flaw(
            "lone_surrogate", "half of a surrogate pair is no character; delete it", (), found.start()
        )
    message = (
        f"delete the control character U+{ord(char):04X} here, or write it as an escape in double quotes"
    )
    return Flaw("control_character", message, (), found.start())


def _decode(data: bytes) -> str | Parsed:
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if wide else "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        readable = data[: error.start].decode(encoding, "replace").removeprefix("\ufeff")
        message = f"this is not {encoding.upper()}: {error.reason}; save the file as UTF-8"
        return Parsed(None, Lines(readable), (Flaw("encoding", message, (), len(readable)),))


def _refused(code: str, message: str) -> Parsed:
    return Parsed(None, Lines(""), (Flaw(code, message, (), 0),))
