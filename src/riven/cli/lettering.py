"""How wide text is, in terminal cells and, about, in points of a proportional font."""

import unicodedata

TITLE_SIZE = 13.0
DETAIL_SIZE = 11.0
LABEL_SIZE = 11.0

_NARROW = frozenset("ijltfrI.,:;|!'`()[]{}/\\ -\"")
_WIDE = frozenset("mwMW@%&")


def text_width(text: str, size: float) -> float:
    """On the generous side, for the widest of the usual fonts: a box may be roomy, never too small."""
    return size * sum(_em(char) for char in text)


def _em(char: str) -> float:
    cells = char_cells(char)
    if cells != 1:
        return 1.1 * cells / 2
    if char in _NARROW:
        return 0.42
    if char in _WIDE:
        return 0.98
    return 0.74 if char.isupper() else 0.64


def char_cells(char: str) -> int:
    """Columns of a terminal: 0 for what combines with the character before, 2 for East Asian wide ones and emoji."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def text_cells(text: str) -> int:
    return len(text) if text.isascii() else sum(char_cells(char) for char in text)


def printable(text: str) -> str:
    """Text of a document or a server as a terminal may show it: no control character acts, lines stay one line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _ESCAPES.get(char, _escape(char)) for char in text)


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\u3000": "\u3000", "\u00a0": "\u00a0"}


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clipped(text: str, cells: int) -> str:
    """At most so many cells, with an ellipsis where something was left out."""
    if len(text) <= cells and text_cells(text) <= cells:
        return text
    kept, used = [], 1
    for char in text:
        used += char_cells(char)
        if used > cells:
            break
        kept.append(char)
    return "".join(kept) + "…" if cells > 0 else ""
