"""Which operation an address and a method mean: by the parts of the address, however many operations there are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from starlette.exceptions import HTTPException

from riven.api.binding import Operation

_SLASH: Final = b"%2F"


@dataclass(slots=True)
class _Place:
    """What may follow a part of an address, and what answers if nothing does."""

    literal: dict[str, "_Place"] = field(default_factory=dict)
    parameter: "_Place | None" = None
    operations: dict[str, tuple[Operation, tuple[str, ...]]] = field(default_factory=dict)
    """By method: the operation, and the names of its parameters in order."""


class RouteTable:
    """Of two operations with one address and method, the first is served. Names go before parameters."""

    def __init__(self, routes: Iterable[object]) -> None:
        self._root = _Place()
        for route in routes:
            if isinstance(route, Operation) and ":" not in route.path:
                self._add(route)

    def find(
        self, method: str, path: str, raw_path: bytes = b""
    ) -> tuple[Operation, Mapping[str, str]] | None:
        """The operation and the values of its parameters. None: no such address; raises a 405 for another method.

        `raw_path`: the address as it was sent, if it is known; a slash that is written `%2F` divides nothing.
        """
        found = _find(self._root, _parts(path, raw_path), 0, ())
        if found is None:
            return None
        operations, values = found
        served = operations.get(method)
        if served is None:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(operations))})
        operation, names = served
        return operation, dict(zip(names, values, strict=True))

    def _add(self, operation: Operation) -> None:
        place = self._root
        names: list[str] = []
        for part in operation.path.split("/"):
            if part.startswith("{") and part.endswith("}"):
                names.append(part[1:-1])
                place.parameter = place.parameter or _Place()
                place = place.parameter
            else:
                place = place.literal.setdefault(part, _Place())
        for method in operation.methods or ():
            place.operations.setdefault(method, (operation, tuple(names)))


def _parts(path: str, raw_path: bytes) -> list[str]:
    if _SLASH not in raw_path.upper():
        return path.split("/")
    return [unquote(part) for part in raw_path.decode("latin-1").split("/")]


def _find(
    place: _Place, parts: list[str], at: int, values: tuple[str, ...]
) -> tuple[dict[str, tuple[Operation, tuple[str, ...]]], tuple[str, ...]] | None:
    if at == len(parts):
        return (place.operations, values) if place.operations else None
    part = parts[at]
    named = place.literal.get(part)
    if named is not None:
        found = _find(named, parts, at + 1, values)
        if found is not None:
            return found
    if place.parameter is not None and part:
        return _find(place.parameter, parts, at + 1, (*values, part))
    return None
