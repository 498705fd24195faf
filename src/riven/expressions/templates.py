"""Templates: any JSON value whose strings may hold placeholders, `{{ expression }}`.

A string that is one placeholder and nothing else, not even a blank, becomes the expression's value with its type. Any
other string with placeholders becomes text: strings as they are, other values as compact JSON; null is an error, since
nobody wants to read it in a letter. Keys of objects are never templates. A `}}` without its `{{` is plain text, and
`{{ '{{' }}` writes braces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from riven.core.errors import RivenError
from riven.expressions.cel import Expression, compile_expression
from riven.expressions.errors import ExpressionError, shorten
from riven.expressions.references import References
from riven.expressions.syntax import MAX_SOURCE
from riven.expressions.tokens import UnclosedError, placeholder_end
from riven.expressions.values import MAX_LEVELS, MAX_TEXT, UnfitError, to_text
from riven.wire.document import Json

__all__ = ["Template", "TemplateErrors", "compile_template", "has_placeholder"]

Location: TypeAlias = tuple[str | int, ...]


class TemplateErrors(RivenError):  # noqa: N818 - it is several errors
    """All that is wrong with a value: each error with its dotted path inside of it, empty for the value itself."""

    def __init__(self, errors: Sequence[ExpressionError]) -> None:
        self.errors = tuple((error.field, error) for error in errors)
        super().__init__("; ".join(f"{path}: {error}" if path else str(error) for path, error in self.errors))


def has_placeholder(text: str) -> bool:
    return "{{" in text


def compile_template(value: Json) -> "Template":
    """Raises TemplateErrors, with everything that is wrong in the value."""
    errors: list[ExpressionError] = []
    references: list[References] = []
    shape = _compile(value, (), errors, references)
    if errors:
        raise TemplateErrors(errors)
    return Template(shape, References().union(*references))


class Template:
    """A compiled value. `constant`: nothing in it is a template, and rendering gives the value itself."""

    __slots__ = ("_shape", "constant", "references")

    def __init__(self, shape: "_Shape", references: References) -> None:
        self._shape = shape
        self.references = references
        self.constant = isinstance(shape, _Constant)

    def render(self, roots: Mapping[str, Json]) -> Json:
        """The value with all placeholders filled in.

        Parts of it may be parts of `roots`, or of the value that was compiled: none may be changed afterwards. Raises
        ExpressionError, whose `field` is the dotted path inside of the value, for the first placeholder that fails.
        """
        return _render(self._shape, roots, (), _Written())


# ---- compiling ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Constant:
    value: Json


@dataclass(frozen=True, slots=True)
class _Whole:
    """A string that is one placeholder."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class _Text:
    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class _List:
    items: tuple["_Shape", ...]


@dataclass(frozen=True, slots=True)
class _Object:
    fields: tuple[tuple[str, "_Shape"], ...]


_Shape: TypeAlias = _Constant | _Whole | _Text | _List | _Object


def _compile(
    value: Json, location: Location, errors: list[ExpressionError], references: list[References]
) -> _Shape:
    if isinstance(value, str):
        return _compile_string(value, location, errors, references)
    if isinstance(value, list | dict) and len(location) >= MAX_LEVELS:
        reason = f"a value is nested deeper than {MAX_LEVELS} levels"
        errors.append(ExpressionError("value_too_deep", reason, "", location=location))
        return _Constant(None)
    if isinstance(value, list):
        items = tuple(_compile(each, (*location, at), errors, references) for at, each in enumerate(value))
        return _Constant(value) if all(isinstance(each, _Constant) for each in items) else _List(items)
    if isinstance(value, dict):
        fields = tuple(
            (key, _compile(each, (*location, str(key)), errors, references)) for key, each in value.items()
        )
        return _Constant(value) if all(isinstance(each, _Constant) for _, each in fields) else _Object(fields)
    return _Constant(value)


def _compile_string(
    text: str, location: Location, errors: list[ExpressionError], references: list[References]
) -> _Shape:
    if "{{" not in text:
        return _Constant(text)
    parts, wrong = _parts(text)
    errors.extend(error.at(location) for error in wrong)
    expressions = [part for part in parts if isinstance(part, Expression)]
    references.extend(each.references for each in expressions)
    if len(parts) == 1 and len(expressions) == 1:
        return _Whole(expressions[0])
    return _Text(parts)


@lru_cache(4096)
def _parts(text: str) -> tuple[tuple[str | Expression, ...], tuple[ExpressionError, ...]]:
    """Text and expressions in turn, and what is wrong with any of them."""
    parts: list[str | Expression] = []
    errors: list[ExpressionError] = []
    done = 0
    while (opened := text.find("{{", done)) >= 0:
        if opened > done:
            parts.append(text[done:opened])
        begin = opened + 2
        try:
            # The blanks at both ends are not counted among the expression's own bytes.
            closed = placeholder_end(text, begin, 2 * MAX_SOURCE)
        except UnclosedError as error:
            errors.append(_unclosed(text, begin, error))
            return tuple(parts), tuple(errors)
        try:
            parts.append(compile_expression(text[begin:closed].strip()))
        except ExpressionError as error:
            errors.append(error)
        done = closed + 2
    if done < len(text):
        parts.append(text[done:])
    return tuple(parts), tuple(errors)


def _unclosed(text: str, begin: int, error: UnclosedError) -> ExpressionError:
    shown = shorten(text[begin : begin + MAX_SOURCE])
    if error.position < len(text) and not error.quote:
        reason = f"the expression that begins here is longer than {MAX_SOURCE} bytes, or its }}}} is missing: {{{{ {shown}"
        return ExpressionError("expression_too_long", reason, "", 1)
    if error.quote == "}":
        reason = f"a single }} stands in this expression, which ends with two, or lacks its {{: {{{{ {shown}"
        return ExpressionError("expression_syntax", reason, "", error.position - begin + 1)
    if error.quote:
        reason = f"the text that begins with {error.quote} in this expression is not closed: {{{{ {shown}"
        return ExpressionError("expression_syntax", reason, "", error.position - begin + 1)
    reason = f"}}}} is missing after {{{{ {shown} (to write braces as text, write {{{{ '{{{{' }}}})"
    return ExpressionError("placeholder_unclosed", reason, "", 1)


# ---- rendering ----------------------------------------------------------------------------------------------------


class _Written:
    """Characters of text made in one rendering."""

    __slots__ = ("total",)
    LIMIT: Final = MAX_TEXT

    def __init__(self) -> None:
        self.total = 0


def _render(shape: _Shape, roots: Mapping[str, Json], location: Location, written: _Written) -> Json:
    match shape:
        case _Constant():
            return shape.value
        case _Whole():
            try:
                return shape.expression.evaluate(roots)
            except ExpressionError as error:
                raise error.at(location) from None
        case _Text():
            return _render_text(shape, roots, location, written)
        case _List():
            return [_render(each, roots, (*location, at), written) for at, each in enumerate(shape.items)]
        case _Object():
            return {key: _render(each, roots, (*location, str(key)), written) for key, each in shape.fields}


def _render_text(shape: _Text, roots: Mapping[str, Json], location: Location, written: _Written) -> str:
    texts: list[str] = []
    for part in shape.parts:
        if isinstance(part, str):
            text = part
        else:
            try:
                text = to_text(part.evaluate(roots))
            except ExpressionError as error:
                raise error.at(location) from None
            except UnfitError as error:
                reason = error.reason + (
                    _instead_of_null(part.source) if error.code == "null_in_text" else ""
                )
                raise ExpressionError(error.code, reason, part.source, 1, location=location) from None
        written.total += len(text)
        if written.total > written.LIMIT:
            reason = f"more than {written.LIMIT // 2**20} MiB of text are made here"
            source = part if isinstance(part, str) else part.source
            raise ExpressionError("text_too_large", reason, shorten(source), location=location)
        texts.append(text)
    return "".join(texts)


def _instead_of_null(source: str) -> str:
    if "orValue(null)" in source:
        instead = source.replace("orValue(null)", "orValue('')")
        return f": write `{shorten(instead)}`"
    shown = source if len(source) <= 40 and source.isprintable() else "x"
    return f": write `{shown} == null ? '' : {shown}` (or, for what may be absent, `.?` and `.orValue('')`)"
