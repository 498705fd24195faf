"""The name that somebody meant, for "did you mean ...?"."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from riven.documents.places import shorten

_LONGEST: Final = 128
_MOST: Final = 2_000
"""Candidates that are compared letter by letter."""


def nearest(name: str, names: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str | None:
    """The nearest of the names; None when none is near. Case, `_` and `-` do not count."""
    if len(name) > _LONGEST:
        return None
    folded = _fold(name)
    known = {_fold(each): each for each in names if len(each) <= _LONGEST}
    if folded in known:
        return known[folded]
    meant = (synonyms or {}).get(folded)
    if meant is not None and _fold(meant) in known:
        return meant
    similar = [each for each in known if abs(len(each) - len(folded)) <= 2 + len(folded) // 3]
    close = get_close_matches(folded, similar[:_MOST], n=1, cutoff=0.6)
    return known[close[0]] if close else None


def hint(name: str, names: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str:
    """`; did you mean 'x'?`, or nothing."""
    found = nearest(name, names, synonyms)
    return f"; did you mean {shorten(found)!r}?" if found is not None else ""


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
