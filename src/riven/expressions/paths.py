"""A path that is written out in an expression, such as `steps.order.output.items[0]`, and how it is followed.

riven follows these itself: only what an expression reads is handed to CEL, and what is missing can be told exactly.
The rules are CEL's: once a link is optional (`.?`), a key that is absent further on makes the whole path absent too,
while a field of what is no object stays an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NoReturn

from riven.expressions.errors import ExpressionCode, ExpressionError, shorten
from riven.wire.document import Json

ABSENT: Final = object()
"""What an optional path yields when there is nothing at its end."""

SHOWN_KEYS: Final = 12


@dataclass(frozen=True, slots=True)
class Link:
    key: str | int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    root: str
    links: tuple[Link, ...]

    @property
    def optional(self) -> bool:
        return any(link.optional for link in self.links)

    def text(self, count: int | None = None) -> str:
        """As it is written; with `count`, up to that many links."""
        parts = [self.root]
        for link in self.links[:count]:
            maybe = "?" if link.optional else ""
            if isinstance(link.key, str) and link.key.isidentifier() and link.key.isascii():
                parts.append(f".{maybe}{link.key}")
            else:
                parts.append(f"[{maybe}{_literal(link.key)}]")
        return "".join(parts)

    def follow(self, roots: Mapping[str, Json], source: str, column: int) -> Json:
        """The value at the end, or ABSENT. Raises ExpressionError with what exists instead."""
        if self.root not in roots:
            _no_root(self.root, source, column)
        value = roots[self.root]
        maybe = False
        for count, link in enumerate(self.links):
            maybe = maybe or link.optional
            key = link.key
            if isinstance(value, dict):
                if key in value:
                    value = value[key]
                elif maybe:
                    return ABSENT
                else:
                    self._missing(count, value, source, column)
            elif isinstance(value, list) and isinstance(key, int):
                if key < len(value):
                    value = value[key]
                elif link.optional:
                    return ABSENT
                else:
                    self._no_item(count, len(value), source, column)
            else:
                self._no_object(count, value, source, column)
        return value

    def has(self, roots: Mapping[str, Json], source: str, column: int) -> bool:
        """What `has(path)` asks: is the last key there? All before it must be."""
        last = self.links[-1]
        asked = Path(self.root, (*self.links[:-1], Link(last.key, optional=True)))
        return asked.follow(roots, source, column) is not ABSENT

    def _missing(self, count: int, value: dict[str, Json], source: str, column: int) -> NoReturn:
        here, whole = self.text(count), self.text(count + 1)
        key = self.links[count].key
        maybe = f"{Path(self.root, (*self.links[:count], Link(key, optional=True), *self.links[count + 1 :])).text()}"
        allow = f"to allow that it is missing, write {maybe}.orValue(null)"
        if self.root in ("steps", "secrets") and count == 0:
            reason = f"there is no {self.root[:-1]} `{key}` here: `{self.root}` {existing(key, value)}"
            _raise("missing_path", reason, source, column)
        if self.root == "steps" and count == 1 and key == "output":
            step, status = self.links[0].key, value.get("status")
            why = f"it was {status}" if isinstance(status, str) else "it did not complete"
            reason = (
                f"step `{step}` has no output ({why}): to allow that, use "
                f"{_optional_from(self, 0).text()}.orValue(null)"
            )
            _raise("missing_path", reason, source, column)
        _raise(
            "missing_path", f"`{whole}` is missing: `{here}` {existing(key, value)}; {allow}", source, column
        )

    def _no_item(self, count: int, size: int, source: str, column: int) -> NoReturn:
        here, key = self.text(count), self.links[count].key
        counted = (
            "is an empty list" if size == 0 else f"has {size} item{'s' if size > 1 else ''}, the first is [0]"
        )
        reason = f"there is no item {key}: `{here}` {counted}; to allow that it is missing, write [?{key}]"
        _raise("missing_path", reason, source, column)

    def _no_object(self, count: int, value: Json, source: str, column: int) -> NoReturn:
        here, key = self.text(count), self.links[count].key
        what = kind_of(value)
        if isinstance(key, int):
            reason = f"`{here}` is {what}, so there is no item [{key}] in it"
        elif isinstance(value, list):
            reason = (
                f"`{here}` is a list, so it has no field `{key}`: take one item, `{here}[0]`, or all with "
            )
            reason += f"`{here}.map(each, each.{key})`"
        else:
            reason = f"`{here}` is {what}, so it has no field `{key}`"
            if value is None:
                asked = f"{here}.orValue(null)" if Path(self.root, self.links[:count]).optional else here
                plain = Path(self.root, tuple(Link(link.key) for link in self.links))
                reason += f"; if it may be null, ask first: {asked} == null ? null : {plain.text()}"
        _raise("not_an_object", reason, source, column)


def existing(key: object, value: Mapping[str, Json]) -> str:
    """The words `has x, y; did you mean x?`."""
    keys = [str(each) for each in value]
    if not keys:
        return "has no keys at all"
    named = ", ".join(f"`{shorten(each, 40)}`" for each in keys[:SHOWN_KEYS])
    if len(keys) > SHOWN_KEYS:
        named += f" and {len(keys) - SHOWN_KEYS} more"
    near = nearest(str(key), keys[:1000])
    return f"has {named}" + (f"; did you mean `{near}`?" if near else "")


def nearest(name: str, names: list[str]) -> str | None:
    folded = {each.lower(): each for each in reversed(names)}
    if found := folded.get(name.lower()):
        return found
    close = get_close_matches(name[:200], [each for each in names if len(each) <= 200], n=1, cutoff=0.6)
    return close[0] if close else None


def kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


_OUTSIDE: Final = {
    "item": "`item` exists in the body of a for_each only",
    "index": "`index` exists in the body of a for_each only",
    "iteration": "`iteration` exists in a repeat only: in its `while` or `until`, and in its body",
    "secrets": "`secrets` can be used in the `with` of actions only",
    "trigger": "`trigger` is empty: this execution was not started by one",
}


def _no_root(root: str, source: str, column: int) -> NoReturn:
    reason = _OUTSIDE.get(root, f"`{root}` does not exist here")
    _raise("missing_path", reason, source, column)


def _optional_from(path: Path, first: int) -> Path:
    links = (Link(link.key, optional=link.optional or at >= first) for at, link in enumerate(path.links))
    return Path(path.root, tuple(links))


def _literal(key: str | int) -> str:
    if isinstance(key, int):
        return str(key)
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shorten(escaped, 60)}"'


def _raise(code: ExpressionCode, reason: str, source: str, column: int) -> NoReturn:
    raise ExpressionError(code, reason, source, column)
