"""What the CEL library says, in words for people who do not program."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from riven.expressions.errors import ExpressionCode, ExpressionError, shorten
from riven.expressions.functions import is_function, similar_function
from riven.expressions.references import NAMESPACES, path_of
from riven.expressions.syntax import Call, Expr, Index, Items, Name, Select, too_deep

_STATUS: Final = re.compile(r"^[A-Z_]+: |\s*\[[A-Z_]+\]\s*$")
_COMPILE: Final = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): ([^\n]*)")
_APPLIED: Final = re.compile(r"found no matching overload for '([^']+)' applied to '\((.*)\)'")
_OVERLOAD: Final = re.compile(r"No matching overloads found : (.+)")
_METHOD: Final = re.compile(r"^\(([^)]*)\)\.(\w+)\((.*)\)$")
_FUNCTION: Final = re.compile(r"^([^\s(]+)(?:\((.*)\))?$")

_SIGNS: Final = {
    "_[_]": "[...]", "_?_:_": "?", "@in": "in", "math.@max": "math.greatest", "math.@min": "math.least",
}  # fmt: skip

_TYPES: Final = {
    "int": "a whole number", "int64": "a whole number", "double": "a decimal number", "uint": "an unsigned number",
    "uint64": "an unsigned number", "string": "text", "bool": "true or false", "null_type": "null", "list": "a list",
    "map": "an object", "bytes": "bytes", "timestamp": "a time", "google.protobuf.Timestamp": "a time",
    "duration": "a duration", "google.protobuf.Duration": "a duration", "type": "a type", "dyn": "any value",
    "optional_type": "a value that may be absent (add .orValue(...))",
}  # fmt: skip


class Said(NamedTuple):
    code: ExpressionCode
    reason: str
    at: int | None = None
    """Position in the source, from 0."""


# ---- when an expression is compiled -------------------------------------------------------------------------------


def explain_compile(text: str, source: str, tree: Expr) -> ExpressionError:
    """`text` is about a source of the same length and the same lines as `source`."""
    if "recursion" in text:
        return too_deep(source, None)
    found = _COMPILE.search(text)
    if found is None:
        return ExpressionError("expression_syntax", _clean(text), source)
    line, column, message = int(found[1]), int(found[2]), found[3]
    at = (
        None
        if line < 1
        else sum(len(each) + 1 for each in source.split("\n")[: line - 1]) + max(column, 1) - 1
    )
    said = _compile_said(_clean(message), source, tree, at)
    position = said.at if said.at is not None else at
    return ExpressionError(said.code, said.reason, source, None if position is None else position + 1)


def _compile_said(message: str, source: str, tree: Expr, at: int | None) -> Said:
    if found := re.match(r"undeclared reference to '([^']*)'", message):
        return _undeclared(found[1], tree, at)
    if found := _APPLIED.match(message):
        return _mismatch(found[1], _split(found[2]), source, tree, at)
    if "cannot be the operand of a select operation" in message:
        found = re.search(r"type '([^']*)'", message)
        what = _type(found[1]) if found else "no object"
        return Said("not_an_object", f"a field is read here from {what}, which has none")
    if found := re.match(r"expected type '([^']*)' but found '([^']*)'", message):
        return Said("type_mismatch", f"{_type(found[1])} is expected here, but this is {_type(found[2])}")
    if found := re.search(r"invalid (hex )?(u?int|double) literal", message):
        return Said("number_out_of_range", "this number is out of range: integers have 64 bits")
    if "has() argument" in message:
        return Said("expression_syntax", "has(...) asks for a field: write has(input.name)")
    if found := re.search(r"(\w+)\(\) variable name must be a simple identifier", message):
        return Said(
            "expression_syntax", f"{found[1]}(...) begins with a name for each element: {found[1]}(x, ...)"
        )
    if found := re.match(r"Invalid (string|bytes) literal: (.*)", message):
        return Said("expression_syntax", f"this text cannot be read: {found[2]}")
    if "token recognition error" in message:
        return Said(
            "expression_syntax", r"this text has an escape that does not exist: a backslash is written \\"
        )
    return Said("expression_syntax", f"this cannot be read: {shorten(message, 200)}")


def _undeclared(name: str, tree: Expr, at: int | None) -> Said:
    calls = [node for node in _nodes(tree) if isinstance(node, Call)]
    if name in NAMESPACES:
        calls = [node for node in calls if isinstance(node.target, Name) and node.target.name == name]
        name = f"{name}.{calls[0].function}" if calls else name
    calls = [node for node in calls if node.function == name.rpartition(".")[2]]
    if not calls:
        return Said("unknown_name", f"the name `{name}` is unknown")
    if is_function(name):
        reason = (
            f"the function `{name}` is not called this way: see its arguments in the reference of expressions"
        )
    else:
        instead = similar_function(name)
        reason = f"there is no function `{name}` here" + (f"; did you mean `{instead}`?" if instead else "")
    return Said("unknown_function", reason, calls[0].at if len(calls) == 1 else at)


# ---- when it is evaluated -----------------------------------------------------------------------------------------


def explain_evaluation(text: str, source: str, tree: Expr, *, secret: bool) -> ExpressionError:
    """`secret`: the expression reads secrets, so nothing that was computed may be shown."""
    said = _evaluation_said(_clean(text), source, tree, secret=secret)
    return ExpressionError(said.code, said.reason, source, None if said.at is None else said.at + 1)


def _evaluation_said(message: str, source: str, tree: Expr, *, secret: bool) -> Said:
    # What may quote values first, so that a value is not taken for what the library says.
    if found := re.match(r"Key not found in map : (.*)", message, re.DOTALL):
        key = "the key" if secret else f"the key `{shorten(found[1].strip(chr(34)), 60)}`"
        return Said(
            "missing_path",
            f"an object does not have {key} that is read from it; to allow that, write .?key or [?key], "
            "and .orValue(...) at the end",
        )
    if message == "Iteration budget exceeded":
        return Said(
            "expression_budget",
            "this goes through too many elements: one expression may take 10,000 steps of `map`, `filter`, `all`, "
            "`exists` together; use a for_each node for more",
        )
    if found := _OVERLOAD.match(message):
        return _overload(found[1], source, tree)
    if "Applying SELECT to non-message type" in message:
        selects = [
            node for node in _nodes(tree) if isinstance(node, Select) and path_of(node, frozenset()) is None
        ]
        if len(selects) == 1:
            where = selects[0]
            operand = shorten(source[where.operand.start : where.operand.end], 60)
            return Said(
                "not_an_object", f"`{operand}` is no object, so it has no field `{where.field}`", where.start
            )
        return Said(
            "not_an_object",
            "a field is read from a value that is no object, but null, text, a number or a list",
        )
    if found := re.match(r"Index error: index=(-?\d+) size=(\d+)", message):
        size = int(found[2])
        has = "is empty" if size == 0 else f"has {size}, the first is [0]"
        return Said(
            "missing_path", f"there is no item {found[1]}: the list {has}; to allow that, write [?{found[1]}]"
        )
    if "expected integer type" in message:
        return Said(
            "type_mismatch", "items of a list are counted: list[0] is the first; text cannot be used there"
        )
    if found := re.match(r"Invalid container type: '([^']*)'", message):
        return Said(
            "type_mismatch",
            f"[...] takes an item of a list or a key of an object, but this is {_type(found[1])}",
        )
    if found := re.match(r"Invalid map key type: '([^']*)'", message):
        return Said("type_mismatch", f"the key of an object must be text, but this is {_type(found[1])}")
    if found := re.match(r"<string>\.(\w+)\(", message):
        return Said("invalid_value", f"{found[1]}(...) asks for a position that the text does not have")
    if message.startswith(("invalid regular", "regular expression")):
        detail = "" if secret else ": " + shorten(message.partition(": ")[2] or message, 80)
        return Said("invalid_value", f"the pattern of matches(...) is not a regular expression (RE2){detail}")
    if "Duration" in message:
        return Said(
            "invalid_value",
            "duration(...) takes a duration such as '90s' or '1h30m', of at most 10,000 years",
        )
    if message in ("divide by zero", "modulus by zero"):
        return Said("division_by_zero", "this divides by zero")
    if (
        "overflow" in message
        or "out of range" in message
        or "out of int64" in message
        or "out of uint64" in message
    ):
        if "index" in message:
            return Said("invalid_value", "format(...) has more % in its text than values in its list")
        return Said("number_out_of_range", "a number gets out of range: integers have 64 bits")
    if "optional.none() dereference" in message:
        return Said("missing_path", "value() asks for something that is absent; use .orValue(...) instead")
    if "duplicate key" in message:
        return Said("invalid_value", "the same key is written twice in one object")
    if found := re.search(r"cannot convert string to (int|double|uint)|from 'string' to '(bool)'", message):
        kind = {"int": "whole number", "uint": "unsigned number", "double": "number"}.get(
            found[1] or "", "true or false"
        )
        return Said("invalid_value", f"a text that is no {kind} is converted by {found[1] or found[2]}(...)")
    if "Timestamp conversion" in message:
        return Said("invalid_value", "timestamp(...) takes a time such as '2026-01-31T12:00:00Z'")
    if "No value with name" in message:
        return Said("missing_path", "a value that the expression reads was not given")
    return Said(
        "evaluation_failed",
        "the expression failed" if secret else f"the expression failed: {shorten(message, 200)}",
    )


def _overload(overload: str, source: str, tree: Expr) -> Said:
    if found := _METHOD.match(overload):
        return _mismatch(found[2], [found[1], *_split(found[3])], source, tree, None)
    match overload:
        case "<jump_condition>":
            return Said(
                "type_mismatch", "what stands before ? and inside of filter(...) must be true or false"
            )
        case "<iter_range>":
            return Said(
                "type_mismatch", "map, filter, all and exists go through a list or an object; this is neither"
            )
        case "_&&_" | "_||_" | "!_" | "@not_strictly_false":
            sign = overload.strip("_")
            where = f"what stands beside {sign}" if sign in ("&&", "||", "!") else "the condition"
            return Said(
                "type_mismatch", f"{where} must be true or false: compare it, for example `x == 'yes'`"
            )
        case "@in":
            return Said(
                "type_mismatch",
                "`in` looks for a value in a list, or for a key in an object; this is neither",
            )
        case _:
            found = _FUNCTION.match(overload)
            if found is None:
                return Said("type_mismatch", "an operation does not take the values that it is given")
            return _mismatch(found[1], _split(found[2] or ""), source, tree, None)


def _mismatch(function: str, types: list[str], source: str, tree: Expr, at: int | None) -> Said:
    if function in ("_?._", "_[?_]"):
        what = _type(types[0]) if types else "null, text or a number"
        return Said(
            "not_an_object", f".? and [?] look into objects and lists, but what stands before is {what}"
        )
    sign = _SIGNS.get(function) or function.strip("_")
    calls = [
        node for node in _nodes(tree) if isinstance(node, Call) and node.function == sign.rpartition(".")[2]
    ]
    call = calls[0] if len(calls) == 1 else None
    where = call.at if call is not None else at
    kinds = [_base(each) for each in types]
    if sign in ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=") and len(kinds) == 2:
        return Said("type_mismatch", _operator(sign, kinds, source, call), where)
    if function in ("_&&_", "_||_", "!_"):
        return Said(
            "type_mismatch",
            f"what stands beside {sign} must be true or false: compare it, `x == 'yes'`",
            where,
        )
    if sign == "?":
        if kinds and kinds[0] not in ("bool", "dyn"):
            return Said(
                "type_mismatch",
                f"what stands before ? must be true or false, but is {_type(types[0])}",
                where,
            )
        both = " and ".join(_type(each) for each in types[1:])
        first = "a" if call is None else shorten(source[call.args[1].start : call.args[1].end], 40)
        return Said(
            "type_mismatch",
            f"both values of `condition ? a : b` must be of one type, but they are {both}; to allow it, write dyn({first})",
            where,
        )
    if function == "orValue" or sign in ("orValue", "or", "value", "hasValue"):
        return Said(
            "type_mismatch",
            f"{sign}(...) is for what may be absent: mark it by .? first, as in input.?name.orValue('nobody')",
            where,
        )
    given = ", ".join(_type(each) for each in types) or "what it is given"
    if sign == "string":
        return Said("type_mismatch", f"string(...) takes numbers, times and the like, but not {given}", where)
    return Said("type_mismatch", f"`{sign}` does not take {given}", where)


def _operator(sign: str, kinds: list[str], source: str, call: Call | None) -> str:
    left, right = kinds
    words = f"{_type(left)} and {_type(right)}"
    operands = ["x", "y"]
    if call is not None and len(call.args) == 2:
        operands = [shorten(source[each.start : each.end], 40) for each in call.args]
    numbers = {"int": "int64", "uint": "uint64"}
    a, b = (numbers.get(each, each) for each in kinds)
    if {a, b} == {"int64", "double"}:
        at = 0 if a == "int64" else 1
        operands[at] = f"double({operands[at]})"
        return f"`{sign}` cannot mix a whole number and a decimal number: write {operands[0]} {sign} {operands[1]}"
    if "uint64" in (a, b) and {a, b} <= {"int64", "uint64", "double"}:
        at = 0 if a == "uint64" else 1
        kind = "int" if "int64" in (a, b) else "double"
        operands[at] = f"{kind}({operands[at]})"
        return f"`{sign}` cannot mix {words}: write {operands[0]} {sign} {operands[1]}"
    if sign == "+" and "string" in (a, b) and {a, b} & {"int64", "double", "bool", "uint64"}:
        at = 1 if a == "string" else 0
        operands[at] = f"string({operands[at]})"
        return f"`+` cannot join {words}: write {operands[0]} + {operands[1]}"
    if sign == "+" and a == b == "map":
        return "`+` cannot join two objects: write {'a': x.a, 'b': y.b} with the keys that you need"
    if "null_type" in (a, b):
        at = 0 if a == "null_type" else 1
        return f"`{sign}` cannot take null, and `{operands[at]}` is null: ask first, `{operands[at]} == null ? ... : ...`"
    if "string" in (a, b) and {a, b} & {"int64", "double"}:
        at = 0 if a == "string" else 1
        kind = "double" if "double" in (a, b) else "int"
        return f"`{sign}` cannot take {words}: to read the text as a number, write {kind}({operands[at]})"
    return f"`{sign}` cannot take {words}"


def _base(type_name: str) -> str:
    return type_name.strip().partition("(")[0]


def _type(type_name: str) -> str:
    return _TYPES.get(_base(type_name), "a value of another type")


def _split(types: str) -> list[str]:
    """The types of `int, list(int), map(string, dyn)`."""
    parts: list[str] = []
    depth = 0
    for char in types:
        if char == "," and not depth:
            parts.append("")
            continue
        depth += {"(": 1, ")": -1}.get(char, 0)
        if not parts:
            parts.append("")
        parts[-1] += char
    return [part.strip() for part in parts]


def _clean(text: str) -> str:
    previous = None
    while previous != text:
        previous, text = text, _STATUS.sub("", text)
    return text.strip()


def _nodes(tree: Expr) -> Iterator[Expr]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Select():
                pending.append(node.operand)
            case Index():
                pending += [node.operand, node.index]
            case Items():
                pending += node.items
            case Call():
                pending += [*(() if node.target is None else (node.target,)), *node.args]
            case _:
                pass
