"""The CEL library as it is, without anything of riven around it; and values and expressions to try on both."""

import math
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings
from hypothesis import strategies as st

from riven.expressions.references import ROOTS

BARE = cel.NewEnv(
    variables=dict.fromkeys(ROOTS, cel.Type.DYN),
    extensions=[
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_optional.ExtOptional(),
        ext_encoders.ExtEncoders(),
    ],
)


class BareError(Exception):
    pass


def bare(source: str, roots: dict[str, Any]) -> object:
    """What the library alone says; BareError for any of its ways to fail, and for optionals."""
    try:
        return plain(BARE.compile(source).eval(data=roots))
    except RuntimeError as error:
        raise BareError(str(error)) from None


def plain(value: cel.Value) -> object:
    """Without `plain_value`, which crashes on optionals; and without reading nulls, which loses a reference to None."""
    name = value.type().name()
    if name == "NULL":
        return None
    if name == "ERROR":
        raise BareError("an error, or an optional")
    inner = value.value()
    if isinstance(inner, list):
        return [plain(each) for each in inner]
    if isinstance(inner, dict):
        return {key: plain(each) for key, each in inner.items()}
    if isinstance(inner, float) and not math.isfinite(inner):
        raise BareError("no JSON")
    return inner


def same(left: object, right: object) -> bool:
    """Equal, and of the same types: 1 is not 1.0, nor True."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


INTEGERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
SCALARS = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
"""Any JSON that the library takes."""

KEYS = ["a", "b", "size", "map"]
SMALL = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "b", "xyz"])
NESTED = st.recursive(
    SMALL,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)
"""JSON in which paths of few names lead somewhere."""


@st.composite
def paths(draw: st.DrawFn, root: str = "input", *, optional: bool = True) -> str:
    text = root
    for _ in range(draw(st.integers(0, 4))):
        maybe = draw(st.sampled_from(["", "", "?"])) if optional else ""
        key = draw(st.sampled_from(KEYS))
        link = draw(
            st.sampled_from([f".{maybe}{key}", f"[{maybe}'{key}']", f"[{maybe}{draw(st.integers(0, 3))}]"])
        )
        text += draw(st.sampled_from(["", "", " "])) + link
    return f"({text})" if draw(st.integers(0, 9)) == 0 else text


def expressions() -> st.SearchStrategy[str]:
    leaves = (
        paths()
        | paths("vars", optional=False)
        | st.sampled_from(["1", "2.0", "'a'", "true", "false", "null", "[]", "{}", "[1, 2]", "{'a': 1}", "x"])
    )
    signs = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"])
    loops = st.sampled_from(["map", "filter", "all", "exists", "exists_one"])

    def more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("({}) {} ({})".format, inner, signs, inner),
            st.builds("({} ? {} : {})".format, inner, inner, inner),
            st.builds("({}).orValue({})".format, inner, inner),
            st.builds("[{}, {}]".format, inner, inner),
            st.builds("{{'a': {}, 'b': {}}}".format, inner, inner),
            st.builds("({}).{}(x, {})".format, inner, loops, inner),
            st.builds("({}).size()".format, inner),
            st.builds("{}({})".format, st.sampled_from(["!", "-", "string", "dyn", "size", "type"]), inner),
            st.builds("has({}.a)".format, paths(optional=False)),
            st.builds("({})[{}]".format, inner, inner),
            st.builds("[0].map(x, {})[0]".format, inner),
        )

    return st.recursive(leaves, more, max_leaves=6)
