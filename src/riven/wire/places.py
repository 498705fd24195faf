"""Where nodes stand in document order, as texts that sort that way, byte by byte.

A node's place is that of its scope and its position in it, a container's before those of its body, items and iterations
by their index: so rows of a run can be read in document order, some at a time. A step is a number with a letter in
front that tells how many digits it has; `each[3].send`, the second node of the body of a document's third, is `a2a3a1`.
"""

from collections.abc import Iterator

_LENGTHS = "abcdefghijklmnopqrst"


def place_step(position: int) -> str:
    """A position among the nodes of a scope, or the index of a scope in its container; 0 for the scope of a call."""
    digits = str(position)
    return _LENGTHS[len(digits) - 1] + digits


def place_steps(place: str) -> Iterator[int]:
    """The positions and indexes that a place is made of."""
    at = 0
    while at < len(place):
        end = at + 2 + _LENGTHS.index(place[at])
        yield int(place[at + 1 : end])
        at = end
