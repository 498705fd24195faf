"""YAML 1.2 text to a tree, on the events of libyaml."""

from typing import Final, TypeAlias

from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from riven.documents.builder import MAX_DEPTH, Builder, UnreadableError
from riven.documents.places import shorten
from riven.documents.scalars import NumberRangeError, plain

_HINTS: Final = (
    (
        "mapping values are not allowed",
        "a text with `: ` in it needs quotes around it; else check the indentation",
    ),
    (
        "could not find expected ':'",
        "a key needs a `:` after it; a text of several lines needs quotes or `|`",
    ),
    ("did not find expected key", "check the indentation, and quotes inside of quotes"),
    ("found a tab character", "indent with spaces"),
    (
        "did not find expected ',' or",
        "check that brackets and braces are closed and their parts separated by commas",
    ),
    ("did not find expected '-'", "every element of this list begins with `- `, in the same column"),
    ("unexpected end of stream", "the quotes that open here are not closed"),
    ("unknown escape character", "in double quotes a backslash is written twice; or use single quotes"),
    ("invalid Unicode character escape", "half of a surrogate pair is no character"),
)
_TROUBLE: Final = {
    "\t": "indent with spaces, not with tabs",
    "@": "a text that begins with @ needs quotes",
    "`": "a text that begins with ` needs quotes",
    "%": "a text that begins with % needs quotes",
}
_Tagged: TypeAlias = ScalarEvent | MappingStartEvent | SequenceStartEvent
_BREAKS: Final = ("\x85", "\u2028", "\u2029")


def read_yaml(text: str, builder: Builder) -> None:
    """Raises UnreadableError where nothing more can be made of the text."""
    parser = CParser(text)
    try:
        _read(parser, builder)
    except MarkedYAMLError as error:
        raise _unreadable(error, text) from None
    except YAMLError as error:
        raise UnreadableError("yaml_syntax", f"this is no YAML: {error}", 0) from None


def _read(parser: CParser, builder: Builder) -> None:
    documents = 0
    while (event := parser.get_event()) is not None:
        if isinstance(event, ScalarEvent):
            _scalar(event, builder)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            if builder.wants_key():
                _complex_key(parser, builder, event)
                continue
            if event.tag is not None:
                _refuse_tag(event, builder)
            builder.open({} if isinstance(event, MappingStartEvent) else [], _offset(event), event.anchor)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            builder.close()
        elif isinstance(event, AliasEvent):
            if builder.wants_key():
                _refuse_key(builder, _offset(event), "an alias cannot be the name of a field; write it out")
            else:
                builder.alias(event.anchor or "", _offset(event))
        elif isinstance(event, DocumentStartEvent):
            documents += 1
            if documents > 1:
                message = "a file holds one workflow; put this one into its own"
                raise UnreadableError("several_documents", message, _offset(event))


def _offset(event: Event) -> int:
    mark = event.start_mark
    return mark.index if mark is not None else 0


def _scalar(event: ScalarEvent, builder: Builder) -> None:
    offset = _offset(event)
    text = event.value
    is_plain = event.implicit[0]
    if event.tag is not None:
        _refuse_tag(event, builder)
    if builder.wants_key():
        if is_plain and text == "<<":
            message = "YAML 1.2 has no merge key `<<`; write the fields out"
            _refuse_key(builder, offset, message, code="merge_key", spoiled=bool(builder.here()))
        elif "\0" in text:
            _refuse_key(builder, offset, "take the NUL character out of this text", code="nul_character")
        elif not text and is_plain:
            _refuse_key(builder, offset, "a field needs a name before its `:`")
        else:
            builder.key(text, offset)
        return
    if is_plain:
        try:
            builder.scalar(plain(text), offset, event.anchor)
        except NumberRangeError as error:
            builder.flaw(error.code, str(error), offset, spoiled=True)
            builder.scalar(0, offset, event.anchor)
        return
    if "\0" in text:
        builder.flaw("nul_character", "take the NUL character out of this text", offset, spoiled=True)
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    builder.scalar(text, offset, event.anchor)


def _complex_key(parser: CParser, builder: Builder, event: MappingStartEvent | SequenceStartEvent) -> None:
    """A list or mapping where a key should stand: nearly always a placeholder without quotes."""
    depth = 1
    while depth:
        inner = parser.get_event()
        if isinstance(inner, (MappingStartEvent, SequenceStartEvent)):
            depth += 1
            if depth > MAX_DEPTH:
                raise UnreadableError(
                    "too_deep", f"nested deeper than {MAX_DEPTH} levels; flatten it", _offset(inner)
                )
        elif isinstance(inner, (MappingEndEvent, SequenceEndEvent)):
            depth -= 1
    if isinstance(event, MappingStartEvent) and event.flow_style:
        message = 'a text that begins with {{ needs quotes around it: "{{ ... }}"'
    else:
        message = "the name of a field is a text; a list or mapping cannot stand before its `:`"
    _refuse_key(builder, _offset(event), message, spoiled=bool(event.flow_style))


def _refuse_key(
    builder: Builder, offset: int, message: str, *, code: str = "invalid_key", spoiled: bool = False
) -> None:
    builder.flaw(code, message, offset, spoiled=spoiled)
    builder.drop(offset)


def _refuse_tag(event: _Tagged, builder: Builder) -> None:
    shown = shorten((event.tag or "").replace("tag:yaml.org,2002:", "!!"))
    builder.flaw("yaml_tag", f"leave out the tag {shown}; tags are not used here", _offset(event))


def _unreadable(error: MarkedYAMLError, text: str) -> UnreadableError:
    mark = error.problem_mark or error.context_mark
    offset = min(mark.index, len(text)) if mark is not None else 0
    problem = error.problem or "it cannot be read"
    if problem == "found unexpected end of stream" and error.context_mark is not None:
        offset = error.context_mark.index
    reason = f"{problem} {error.context}" if error.context else problem
    if problem == "found character that cannot start any token":
        char = text[offset : offset + 1]
        reason = f"{shorten(char) if char != chr(9) else 'a tab'} cannot stand here"
        hint = _TROUBLE.get(char)
    else:
        hint = next((words for start, words in _HINTS if start in problem), None)
    for char in _BREAKS:  # libyaml takes them for the end of a line
        if (found := text.rfind(char, max(0, offset - 200), offset + 1)) >= 0:
            offset, hint = found, f"the invisible character U+{ord(char):04X} stands here; delete it"
    return UnreadableError(
        "yaml_syntax", f"this is no YAML: {reason}" + (f"; {hint}" if hint else ""), offset
    )
