"""Fills in the defaults that a JSON Schema gives for fields that are missing, at any depth.

Defaults are taken from `properties`, through `items`, `prefixItems`, `additionalProperties`, `allOf` and references
inside of the schema. Those of alternatives (`anyOf`, `oneOf`, `if`) are not, since which one holds is not known before.
A default is filled in turn, but never by the schema that gave it: a recursive one would not end.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from riven.documents.schema_references import References
from riven.wire.document import Json

_MOST: Final = 100_000
"""Places of a value that are looked at; a schema that wants more is not one that people write."""


_MOST_BYTES: Final = 4 * 1024 * 1024


class LargeDefaultsError(ValueError):
    """A few bytes of input would become megabytes: a large default in each element of a long list."""


def fill_defaults(schema: Json, value: Json) -> Json:
    """A copy of the value with the defaults in it. Raises LargeDefaultsError."""
    sizes = _Sizes()
    references = References(schema)
    filled = copy.deepcopy(value)
    todo: list[tuple[Json, Json, frozenset[int]]] = [(schema, filled, frozenset())]
    seen: set[tuple[int, int]] = set()
    while todo and len(seen) < _MOST:
        part, here, given_by = todo.pop()
        for each in _in_place(part, references):
            if (id(each), id(here)) in seen:
                continue
            seen.add((id(each), id(here)))
            if isinstance(here, dict):
                given = _fill(each, here, given_by, sizes)
                fields = _fields(each, here, given, given_by)
                todo += reversed([(inner, here[name], chain) for inner, name, chain in fields])
            elif isinstance(here, list):
                todo += [(inner, item, given_by) for inner, item in _elements(each, here)]
    return filled


def _in_place(part: Json, references: References) -> Iterator[Mapping[str, Json]]:
    """The schema itself and those that hold for the same value."""
    todo, met = [part], set[int]()
    while todo:
        each = todo.pop()
        if not isinstance(each, Mapping) or id(each) in met:
            continue
        met.add(id(each))
        yield each
        several = each.get("allOf")
        todo += reversed(several) if isinstance(several, list) else []
        if "$ref" in each:
            todo.append(references.target(each["$ref"]))


@dataclass(slots=True)
class _Sizes:
    """How much was filled in."""

    known: dict[int, int] = field(default_factory=dict)
    total: int = 0

    def add(self, default: Json) -> None:
        if id(default) not in self.known:
            self.known[id(default)] = len(orjson.dumps(default))
        self.total += self.known[id(default)]
        if self.total > _MOST_BYTES:
            raise LargeDefaultsError(
                "the defaults of the schema make more than 4 MiB of this input; give fewer elements"
            )


def _fill(
    part: Mapping[str, Json], here: dict[str, Json], given_by: frozenset[int], sizes: _Sizes
) -> set[str]:
    """The names of the fields that were filled in."""
    given: set[str] = set()
    for name, inner in _properties(part).items():
        if (
            name not in here
            and isinstance(inner, Mapping)
            and "default" in inner
            and id(inner) not in given_by
        ):
            sizes.add(inner["default"])
            here[name] = copy.deepcopy(inner["default"])
            given.add(name)
    return given


def _fields(
    part: Mapping[str, Json], here: dict[str, Json], given: set[str], given_by: frozenset[int]
) -> Iterator[tuple[Json, str, frozenset[int]]]:
    properties = _properties(part)
    rest = part.get("additionalProperties")
    for name in here:
        if name in properties:
            inner = properties[name]
            yield inner, name, given_by | {id(inner)} if name in given else given_by
        elif isinstance(rest, Mapping):
            yield rest, name, given_by


def _elements(part: Mapping[str, Json], here: list[Json]) -> Iterator[tuple[Json, Json]]:
    first, rest = part.get("prefixItems"), part.get("items")
    heads = first if isinstance(first, list) else []
    yield from zip(heads, here, strict=False)
    if isinstance(rest, Mapping):
        for item in here[len(heads) :]:
            yield rest, item


def _properties(part: Mapping[str, Json]) -> Mapping[str, Json]:
    properties = part.get("properties")
    return properties if isinstance(properties, Mapping) else {}
