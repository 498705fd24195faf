"""Builds a tree from what a reader of YAML or JSON comes across, without recursion and within bounds.

Mistakes after which the text can still be read are noted and the reading goes on, so that all of them are told at once.
"""

from dataclasses import dataclass, field

from riven.documents.places import Lines, Location, Offsets, Tree, shorten
from riven.wire.document import Json

MAX_SIZE = 4 * 1024 * 1024
"""Bytes of a document, also after its aliases are expanded."""
MAX_DEPTH = 100
SMALLEST, LARGEST = -(2**63), 2**63 - 1

MAX_FLAWS = 1_000
"""More are not told; whoever mends these has learnt what to do."""

_COST = 8
"""What a value counts at least, in characters, when an alias repeats it."""


class UnreadableError(Exception):
    """Reading cannot go on from here."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        self.code = code
        self.message = message
        self.offset = offset
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A mistake in the text itself. `spoiled`: the value there is a stand-in, so nothing more is said of it."""

    code: str
    message: str
    location: Location
    offset: int
    spoiled: bool = False


@dataclass(slots=True)
class _Open:
    container: Json
    offsets: Offsets
    start: int
    cost: int
    anchor: str | None
    key: str | None = None
    key_offset: int = 0
    dropped: bool = False
    """The key stood there before, so its value goes nowhere."""


@dataclass(slots=True)
class Builder:
    lines: Lines
    flaws: list[Flaw] = field(default_factory=list)
    root: Json = None
    _start: int = 0
    _stack: list[_Open] = field(default_factory=list)
    _offsets: dict[int, tuple[Json, Offsets]] = field(default_factory=dict)
    _anchors: dict[str, tuple[Json, int] | None] = field(default_factory=dict)
    _cost: int = 0
    _repeated: int = 0

    def tree(self) -> Tree:
        return Tree(self.root, self._start, self.lines, self._offsets)

    def wants_key(self) -> bool:
        """Whether what comes next is a key of a mapping."""
        if not self._stack:
            return False
        top = self._stack[-1]
        return top.key is None and type(top.container) is dict

    def open(self, container: Json, offset: int, anchor: str | None = None) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise UnreadableError("too_deep", f"nested deeper than {MAX_DEPTH} levels; flatten it", offset)
        if anchor is not None:
            self._anchors[anchor] = None
        offsets: Offsets = []
        self._offsets[id(container)] = (container, offsets)
        self._place(container, offset)
        self._stack.append(_Open(container, offsets, offset, self._cost, anchor))

    def close(self) -> None:
        done = self._stack.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.container, self._cost - done.cost)
        if self._stack:
            self._stack[-1].key = None

    def key(self, text: str, offset: int) -> None:
        top = self._stack[-1]
        self._cost += len(text)
        top.key, top.key_offset = text, offset
        top.dropped = text in top.container
        if top.dropped and len(self.flaws) < MAX_FLAWS:
            first = self.lines.at(self._offset_of(top, text))[0]
            message = f"{shorten(text)!r} stands here twice, first on line {first}; keep one of the two"
            self.flaw("duplicate_key", message, offset)

    def scalar(self, value: Json, offset: int, anchor: str | None = None) -> None:
        cost = _COST + len(value) if type(value) is str else _COST
        self._cost += cost
        if anchor is not None:
            self._anchors[anchor] = (value, cost)
        self._place(value, offset)
        if self._stack:
            self._stack[-1].key = None

    def alias(self, name: str, offset: int) -> None:
        found = self._anchors.get(name, ...)
        if found is ... or found is None:
            if found is None:
                self.flaw("alias_recursion", f"*{shorten(name)} stands inside of what it repeats", offset)
            else:
                self.flaw("unknown_alias", f"there is no anchor &{shorten(name)} before this", offset)
            self.scalar(None, offset)
            return
        value, cost = found
        self._cost += cost
        self._repeated += cost
        if self._repeated > MAX_SIZE:
            raise UnreadableError(
                "alias_expansion", "the aliases repeat more than 4 MiB; write less by aliases", offset
            )
        self._place(value, offset)
        if self._stack:
            self._stack[-1].key = None

    def drop(self, offset: int) -> None:
        """Instead of `key`: there is a key here that cannot be one, so its value goes nowhere."""
        top = self._stack[-1]
        top.key, top.key_offset, top.dropped = "", offset, True

    def flaw(self, code: str, message: str, offset: int, *, spoiled: bool = False) -> None:
        """Note a mistake of the key or value that is being read."""
        if len(self.flaws) < MAX_FLAWS:
            self.flaws.append(Flaw(code, message, self.here(), offset, spoiled))

    def _place(self, value: Json, offset: int) -> None:
        if not self._stack:
            self.root, self._start = value, offset
            return
        top = self._stack[-1]
        if type(top.container) is list:
            top.container.append(value)
            top.offsets.append(offset)
        elif not top.dropped:
            top.container[top.key] = value
            top.offsets += (top.key_offset, offset)

    def _offset_of(self, opened: _Open, key: str) -> int:
        return opened.offsets[2 * list(opened.container).index(key)]

    def here(self) -> Location:
        steps: list[str | int] = []
        for opened in self._stack:
            if type(opened.container) is list:
                steps.append(len(opened.container) - (opened is not self._stack[-1]))
            elif opened.key is not None:
                steps.append(opened.key)
        return tuple(steps)
