"""What can be wrong with an expression, in words for people who write workflows, not programs.

Codes are stable; tools may rely on them.

| code | what is wrong |
|---|---|
| `expression_empty` | nothing stands between the braces |
| `expression_syntax` | it cannot be read as CEL |
| `expression_too_long` | more than 4 KiB |
| `expression_too_deep` | nested, or chained, deeper than the evaluator goes |
| `expression_budget` | would take, or took, too much work for the data it was given |
| `placeholder_unclosed` | `{{` without its `}}` |
| `placeholder_in_expression` | `{{ }}` where a bare expression stands |
| `unknown_name` | a name that is neither a root nor a variable of a macro |
| `unknown_function` | a function that does not exist |
| `dynamic_reference` | a step or a secret that is not named literally |
| `missing_path` | a key or an item that is not there |
| `not_an_object` | a field read from null, text, a number, a list |
| `type_mismatch` | an operator or a function given what it does not take |
| `not_boolean` | a condition that is neither true nor false |
| `null_in_text` | null inside of text |
| `optional_result` | a maybe that was not resolved by `.orValue(...)` |
| `not_json` | a result that JSON cannot hold, such as infinity |
| `number_out_of_range` | beyond 64 bits |
| `division_by_zero` | a division by zero |
| `invalid_value` | text that is no number, no time, no pattern, ... |
| `unsupported_text` | a NUL character, or half of a surrogate pair |
| `value_too_deep` | a value nested too deep |
| `text_too_large` | more than 16 MiB of text |
| `evaluation_failed` | anything else that the evaluator says |
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from riven.core.errors import RivenError

ExpressionCode: TypeAlias = Literal[
    "expression_empty",
    "expression_syntax",
    "expression_too_long",
    "expression_too_deep",
    "expression_budget",
    "placeholder_unclosed",
    "placeholder_in_expression",
    "unknown_name",
    "unknown_function",
    "dynamic_reference",
    "missing_path",
    "not_an_object",
    "type_mismatch",
    "not_boolean",
    "null_in_text",
    "optional_result",
    "not_json",
    "number_out_of_range",
    "division_by_zero",
    "invalid_value",
    "unsupported_text",
    "value_too_deep",
    "text_too_large",
    "evaluation_failed",
]

SHOWN: Final = 120
"""Characters of an expression that a message shows."""


class ExpressionError(RivenError):
    """One expression is wrong, or went wrong with the values it was given.

    `message` is complete: it quotes the expression and says what to do. `column` counts characters of `source` from 1.
    `field` is the dotted path inside of the value that a template was compiled from, and `location` the same in parts;
    both are empty for a bare expression.
    """

    def __init__(
        self,
        code: ExpressionCode,
        reason: str,
        source: str,
        column: int | None = None,
        *,
        location: Sequence[str | int] = (),
    ) -> None:
        self.code: ExpressionCode = code
        self.reason = reason
        self.source = source
        self.column = column
        self.location = tuple(location)
        quoted = shorten(source)
        self.message = reason if not quoted or f"`{quoted}`" in reason else f"{reason} (in `{quoted}`)"
        super().__init__(self.message)

    @property
    def field(self) -> str:
        return dotted(self.location)

    def at(self, location: Sequence[str | int]) -> "ExpressionError":
        """The same error, found at a place inside of a value."""
        return ExpressionError(self.code, self.reason, self.source, self.column, location=location)


def dotted(location: Sequence[str | int]) -> str:
    """`json.items[2].name`; empty for the value itself."""
    parts: list[str] = []
    for step in location:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)


def shorten(text: str, limit: int = SHOWN) -> str:
    """One line of at most `limit` characters that any terminal can print."""
    line = " ".join(text.split())
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
