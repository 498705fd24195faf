"""How often a JSON Schema looks at one place of a value: a bound, so that no schema can run for ever.

References let a small schema grow without end: thirty definitions that each name the next one twice look at one value a
billion times. The bound is worked out before anything is validated. For each definition that is referred to, the
references in it are counted, those to the same place of the value and those to places one level down; going down as
many levels as the value has gives the bound.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from riven.documents.schema_references import References
from riven.wire.document import Json

ENDLESS: Final = 10**12
"""Counting stops here."""

_SAME_PLACE: Final = ("allOf", "anyOf", "oneOf")
_SAME_PLACE_ONE: Final = ("not", "if", "then", "else")
_OTHER_FIELDS: Final = ("additionalProperties", "unevaluatedProperties")
_ELEMENTS: Final = ("items", "contains", "unevaluatedItems")


class _Below(Enum):
    """Places one level down that have no name of their own."""

    EVERY_FIELD = auto()
    OTHER_FIELDS = auto()
    ELEMENTS = auto()
    NAMES = auto()


_Place: TypeAlias = str | _Below | None
"""Where a reference holds: a field by its name, one of the places below, or None: the same place."""


@dataclass(slots=True)
class _Part:
    """A schema that is referred to, or the whole: what it refers to in turn, by the identity of the target."""

    here: Counter[int] = field(default_factory=Counter)
    below: dict[str | _Below, Counter[int]] = field(default_factory=dict)
    not_other: dict[str, Counter[int]] = field(default_factory=dict)
    """By name of a field: what `additionalProperties` says of others, beside a `properties` that names it."""


def looks(schema: Json, levels: int) -> int:
    """How often one place of a value of so many levels is looked at, at most; `ENDLESS` or more is as good as for ever."""
    parts = _parts(schema)
    order = _order(parts, id(schema))
    down = {key: _worst(part) for key, part in parts.items()}
    counts = _spread({id(schema): 1}, parts, order)
    most = sum(counts.values())
    for _ in range(levels):
        below: Counter[int] = Counter()
        for key, count in counts.items():
            for target, times in down[key].items():
                below[target] += count * times
        if not below:
            break
        counts = _spread(below, parts, order)
        most = max(most, sum(counts.values()))
        if most >= ENDLESS:
            break
    return most


def levels_of(value: Json) -> tuple[int, int]:
    """How deep a value is nested, and how many values are in it."""
    deepest, count, todo = 0, 0, [(value, 0)]
    while todo:
        each, depth = todo.pop()
        count += 1
        deepest = max(deepest, depth)
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        todo += [(item, depth + 1) for item in inner]
    return deepest, count


def _parts(schema: Json) -> dict[int, _Part]:
    parts: dict[int, _Part] = {}
    references = References(schema)
    todo = [schema]
    while todo:
        root = todo.pop()
        if id(root) in parts or not isinstance(root, Mapping):
            continue
        part = parts[id(root)] = _Part()
        for place, target, named in _targets(root, references):
            counter = part.here if place is None else part.below.setdefault(place, Counter())
            counter[id(target)] += 1
            for name in named:
                part.not_other.setdefault(name, Counter())[id(target)] += 1
            todo.append(target)
    return parts


def _targets(root: Json, references: References) -> Iterator[tuple[_Place, Json, tuple[str, ...]]]:
    """References in a part: where they hold, what they lead to, and the names of fields for which they do not hold."""
    todo: list[tuple[_Place, tuple[str, ...], Json]] = [(None, (), root)]
    while todo:
        place, named, each = todo.pop()
        if not isinstance(each, Mapping):
            continue
        for keyword in ("$ref", "$dynamicRef"):
            target = references.target(each.get(keyword))
            if isinstance(target, Mapping):
                yield place, target, named
        todo += [(place, named, inner) for keyword in _SAME_PLACE for inner in _list(each.get(keyword))]
        todo += [(place, named, each.get(keyword)) for keyword in _SAME_PLACE_ONE]
        todo += [(place, named, inner) for inner in _values(each.get("dependentSchemas"))]
        for below, names, inner in _inner(each):
            todo.append((below, names, inner) if place is None else (place, named, inner))


def _inner(each: Mapping[str, Json]) -> Iterator[tuple[str | _Below, tuple[str, ...], Json]]:
    """Schemas for what is one level down."""
    properties = each.get("properties")
    fields = properties if isinstance(properties, Mapping) else {}
    yield from ((name, (), inner) for name, inner in fields.items())
    yield from ((_Below.EVERY_FIELD, (), inner) for inner in _values(each.get("patternProperties")))
    yield from ((_Below.OTHER_FIELDS, tuple(fields), each.get(keyword)) for keyword in _OTHER_FIELDS)
    yield from ((_Below.ELEMENTS, (), each.get(keyword)) for keyword in _ELEMENTS)
    yield from ((_Below.ELEMENTS, (), inner) for inner in _list(each.get("prefixItems")))
    yield _Below.NAMES, (), each.get("propertyNames")


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _values(value: Json) -> list[Json]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _worst(part: _Part) -> Counter[int]:
    """How often each target is asked about one place below, whichever place that is."""
    nothing: Counter[int] = Counter()
    below = part.below
    every = below.get(_Below.EVERY_FIELD, nothing)
    others = every + below.get(_Below.OTHER_FIELDS, nothing)
    worst = others | below.get(_Below.ELEMENTS, nothing) | below.get(_Below.NAMES, nothing)
    for name, counter in below.items():
        if isinstance(name, str):
            worst |= counter + others - part.not_other.get(name, nothing)
    return worst


def _order(parts: Mapping[int, _Part], root: int) -> list[int]:
    """Every part before those that it refers to at the same place; a circle of these is cut, as the library cuts it."""
    done: dict[int, None] = {}
    entered: set[int] = set()
    for start in (root, *parts):
        todo = [(start, False)]
        while todo:
            key, leaving = todo.pop()
            if leaving:
                done[key] = None
            elif key not in entered and key in parts:
                entered.add(key)
                todo.append((key, True))
                todo += [(target, False) for target in parts[key].here]
    return list(reversed(done))


def _spread(counts: Mapping[int, int], parts: Mapping[int, _Part], order: list[int]) -> dict[int, int]:
    """The counts with those of what is referred to at the same place."""
    spread = Counter(counts)
    place = {key: number for number, key in enumerate(order)}
    for key in order:
        if count := spread[key]:
            for target, times in parts[key].here.items():
                if place[target] > place[key]:
                    spread[target] = min(ENDLESS, spread[target] + count * times)
    return {key: count for key, count in spread.items() if count}
