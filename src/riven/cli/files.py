"""Documents from files and from standard input, and the workflows that they call."""

import codecs
import difflib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from riven.cli.arguments import CallError
from riven.cli.lettering import printable
from riven.documents.parse import parse

STDIN = "-"
MAX_BYTES = 4 * 1024 * 1024 + 1
"""One more than a document may have: enough to tell that it is too large, however large it is."""

_WORKFLOW_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}", re.ASCII)
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    """As problems call it."""
    data: bytes
    directory: Path | None
    """Where workflows that it calls may lie; None for standard input, which has no place."""

    @property
    def text(self) -> str:
        """For showing lines of it; the document itself is read from `data`."""
        wide = self.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return self.data.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def read_source(name: str) -> Source:
    """A document by file name, or `-`.

    Raises:
        CallError: it cannot be read.
    """
    if name == STDIN:
        return Source("<stdin>", _read_stdin(), None)
    return Source(name, read_bytes(name), Path(name).parent)


def read_bytes(name: str) -> bytes:
    if not name:
        raise CallError("the name of the file is empty; name a file, or - for standard input")
    path = Path(name)
    shown = printable(name)
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except FileNotFoundError:
        raise CallError(f"{shown}: there is no such file{_nearest(path)}", code="unreadable_file") from None
    except IsADirectoryError:
        raise CallError(f"{shown} is a directory; name a file in it", code="unreadable_file") from None
    except PermissionError:
        raise CallError(f"{shown}: you may not read this file", code="unreadable_file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CallError(f"{shown} cannot be read: {reason}", code="unreadable_file") from None


def _read_stdin() -> bytes:
    try:
        return sys.stdin.buffer.read(MAX_BYTES)
    except (OSError, ValueError, AttributeError):  # closed, or no stream at all
        raise CallError("standard input cannot be read", code="unreadable_file") from None


def _nearest(path: Path) -> str:
    try:
        names = [each.name for each in path.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean '{printable(str(path.with_name(near[0])))}'?" if near else ""


class CalledWorkflows:
    """Finds a called workflow: among `--with FILE`, by its `name`, or as `<name>.yaml` beside the caller."""

    def __init__(self, beside: Path | None, given: Iterable[str] = ()) -> None:
        self._beside = beside
        self._given: dict[str, bytes] = {}
        for name in given:
            data = read_bytes(name)
            tree = parse(data).tree
            declared = tree.value.get("name") if tree is not None else None
            self._given.setdefault(declared if isinstance(declared, str) else Path(name).stem, data)

    def __call__(self, name: str, version: int | None) -> bytes | None:
        """Its text. A file has no versions: it is the one that there is."""
        del version
        if name in self._given:
            return self._given[name]
        if self._beside is None or not _WORKFLOW_NAME.fullmatch(name):
            return None
        for suffix in _SUFFIXES:
            path = self._beside / f"{name}{suffix}"
            if path.is_file():
                return read_bytes(str(path))
        return None
