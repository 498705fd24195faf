"""The functions that expressions have, and what they are called elsewhere."""

from typing import Final

from riven.expressions.paths import nearest

FUNCTIONS: Final = (
    "all", "base64.decode", "base64.encode", "bool", "bytes", "charAt", "contains", "double", "duration", "dyn",
    "endsWith", "exists", "exists_one", "filter", "first", "format", "getDate", "getDayOfMonth", "getDayOfWeek",
    "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "has",
    "hasValue", "indexOf", "int", "join", "last", "lastIndexOf", "lowerAscii", "map", "matches", "math.abs",
    "math.bitAnd", "math.bitNot", "math.bitOr", "math.bitShiftLeft", "math.bitShiftRight", "math.bitXor", "math.ceil",
    "math.floor", "math.greatest", "math.isFinite", "math.isInf", "math.isNaN", "math.least", "math.round", "math.sign",
    "math.sqrt", "math.trunc", "optFlatMap", "optMap", "optional.none", "optional.of", "optional.ofNonZeroValue", "or",
    "orValue", "replace", "reverse", "size", "split", "startsWith", "string", "strings.quote", "substring", "timestamp",
    "trim", "type", "uint", "upperAscii", "value",
)  # fmt: skip

_ELSEWHERE: Final = {
    "len": "size", "length": "size", "count": "size", "upper": "upperAscii", "toUpperCase": "upperAscii",
    "uppercase": "upperAscii", "lower": "lowerAscii", "toLowerCase": "lowerAscii", "lowercase": "lowerAscii",
    "strip": "trim", "toString": "string", "str": "string", "String": "string", "float": "double", "number": "double",
    "Number": "double", "parseInt": "int", "integer": "int", "includes": "contains", "some": "exists", "any": "exists",
    "every": "all", "slice": "substring", "substr": "substring", "default": "orValue", "get": "orValue", "max":
    "math.greatest", "min": "math.least", "abs": "math.abs", "round": "math.round", "floor": "math.floor", "ceil":
    "math.ceil", "sqrt": "math.sqrt", "concat": "join", "typeof": "type", "isEmpty": "size", "find": "filter", "test":
    "matches", "regex": "matches", "existsOne": "exists_one", "b64encode": "base64.encode", "optional": "optional.of",
}  # fmt: skip


def is_function(name: str) -> bool:
    """Also without what stands before its dot."""
    return name in FUNCTIONS or any(each.rpartition(".")[2] == name for each in FUNCTIONS)


def similar_function(name: str) -> str | None:
    return _ELSEWHERE.get(name.removeprefix("math.")) or nearest(name, list(FUNCTIONS))
