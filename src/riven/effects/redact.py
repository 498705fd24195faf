"""Secrets leave no trace: their values are replaced wherever something is stored, shown or logged.

A value is looked for as it is and as it travels: escaped in JSON or in a Python literal, percent-encoded, and inside
Base64 at each of its three alignments (so `user:password` of basic auth is found by the password alone). What is
short is found everywhere by accident: a value under four characters is hidden only where the configuration names it
and where a whole string of that attempt's output equals it.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

from riven.wire.document import Json

MASK = "***"

SHORTEST_SEARCHED = 4
_SHORTEST_ENCODED = 6
"""Of an encoded form that is not the value itself: fewer characters would be met by accident."""
_SHORTEST_LINE = 8


class Redactor:
    """Hides some secrets. Values that hold none of them come back as the same object."""

    def __init__(self, secrets: Mapping[str, str], names: Iterable[str]) -> None:
        values = [secrets[name] for name in names if secrets.get(name)]
        forms = {form for value in values if len(value) >= SHORTEST_SEARCHED for form in _forms(value)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._searched = re.compile("|".join(map(re.escape, longest_first))) if forms else None
        self._values = {name: secrets[name] for name in names if secrets.get(name)}
        self._numbers = {
            value for value in values if len(value) >= SHORTEST_SEARCHED and _NUMBER.fullmatch(value)
        }
        self._short = frozenset(value for value in values if len(value) < SHORTEST_SEARCHED)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to hide."""
        return not self._values

    def only(self, names: Iterable[str]) -> frozenset[str]:
        """Those values among these secrets that are too short to be searched for."""
        return self._short & {self._values.get(name, "") for name in names}

    def text(self, text: str, short: frozenset[str] = frozenset()) -> str:
        """`short`: values that hide a text which equals them."""
        if text in short:
            return MASK
        return text if self._searched is None else self._searched.sub(MASK, text)

    def value(self, value: Json, short: frozenset[str] = frozenset()) -> Json:
        """JSON with every secret in it hidden, also in keys."""
        if not self._values:
            return value
        if isinstance(value, str):
            return self.text(value, short)
        if isinstance(value, dict):
            return self._mapping(value, short)
        if isinstance(value, list):
            items = [self.value(item, short) for item in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if self._numbers and isinstance(value, (int, float)) and str(value) in self._numbers:
            return MASK
        return value

    def _mapping(self, value: dict[str, Json], short: frozenset[str]) -> dict[str, Json]:
        hidden: dict[str, Json] = {}
        same = True
        for key, item in value.items():
            new_key, new_item = self.text(key, short), self.value(item, short)
            same = same and new_key == key and new_item is item
            hidden[new_key] = new_item
        return value if same else hidden

    def masked(self, value: Json, mask: Json) -> Json:
        """A resolved configuration without its secrets. `mask` tells where the written one names some: see `mask_of`."""
        if mask is None:
            return self.value(value)
        if isinstance(mask, frozenset):
            return self._named(value, mask)
        if isinstance(mask, dict) and isinstance(value, dict):
            return {self.text(key): self.masked(item, mask.get(key)) for key, item in value.items()}
        if isinstance(mask, list) and isinstance(value, list) and len(mask) == len(value):
            return [self.masked(item, inner) for item, inner in zip(value, mask, strict=True)]
        return MASK

    def _named(self, value: Json, names: frozenset[str]) -> Json:
        """A value that was built from secrets: where they cannot be seen in it any more, all of it is hidden."""
        if not isinstance(value, str):
            return MASK
        hidden = value
        for name in sorted(names, key=lambda name: -len(self._values.get(name, ""))):
            secret = self._values.get(name)
            if secret is not None:
                hidden = hidden.replace(secret, MASK)
        return MASK if hidden == value else self.text(hidden)


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def _forms(secret: str) -> Iterable[str]:
    """A secret as it is, and as it looks where it usually travels."""
    plain = {secret, secret.strip(), *(line for line in secret.splitlines() if len(line) >= _SHORTEST_LINE)}
    for value in plain:
        if len(value) < SHORTEST_SEARCHED:
            continue
        yield value
        for form in _encoded(value):
            if len(form) >= _SHORTEST_ENCODED:
                yield form


def _encoded(value: str) -> Iterable[str]:
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    raw = value.encode("utf-8", "surrogatepass")
    for percent in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        yield percent
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), percent)
    yield raw.hex()
    yield raw.hex().upper()
    for before in range(3):
        core = _base64_core(raw, before)
        yield core
        yield core.translate(_URL_SAFE)
    whole = base64.b64encode(raw).decode()
    yield whole
    yield whole.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def _base64_core(raw: bytes, before: int) -> str:
    """The characters that depend on `raw` alone when `before` other bytes (modulo 3) stand in front of it."""
    encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
    first = (0, 2, 3)[before]
    shared_with_what_follows = (before + len(raw)) % 3 != 0
    return encoded[first : len(encoded) - shared_with_what_follows]
