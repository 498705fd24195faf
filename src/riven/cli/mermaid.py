"""A diagram as Mermaid text, as Markdown pages draw it."""

import re
from collections.abc import Iterator

from riven.cli.diagram import Box, Diagram, Shape
from riven.core.ids import NodePath

_RESERVED = frozenset(
    {
        "call", "class", "classdef", "click", "default", "direction", "end", "flowchart", "graph", "href",
        "interpolate", "linkstyle", "style", "subgraph", "bt", "lr", "rl", "tb", "td",
    }
)  # fmt: skip
"""Words that Mermaid reads as its own, in any case."""

_BRACKETS = {
    Shape.ACTION: ("[", "]"),
    Shape.CHOICE: ("{", "}"),
    Shape.WAIT: ("([", "])"),
    Shape.CONTAINER: ("[", "]"),
}

_MEANT = re.compile(
    r"""["#`<>&\\{}\[\]()|*~%]"""  # anywhere
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # emphasis; inside of a word it is only itself
    r"|^[-+]|(?<=^\d)\.|(?<=^\d\d)\."  # a list, of which Mermaid says that it cannot draw it
)


def mermaid_text(diagram: Diagram) -> str:
    names = _Names()
    return "\n".join(["flowchart TD", *_lines(diagram, names, "  ")]) + "\n"


class _Names:
    """An identifier for every box: its key where that is free, Mermaid having one name space for all scopes."""

    def __init__(self) -> None:
        self._taken: dict[str, NodePath] = {}
        self._given: dict[NodePath, str] = {}

    def of(self, box: Box) -> str:
        if box.path in self._given:
            return self._given[box.path]
        wanted = "".join(char if char.isascii() and char.isalnum() else "_" for char in box.path)
        name, number = wanted, 1
        while name in self._taken or name.lower() in _RESERVED:
            number += 1
            name = f"{wanted}_{number}"
        self._taken[name] = box.path
        self._given[box.path] = name
        return name


def _lines(diagram: Diagram, names: _Names, indent: str) -> Iterator[str]:
    for box in diagram.boxes:
        name = names.of(box)
        opening, closing = _BRACKETS[box.shape]
        if box.body is None:
            text = "<br/>".join(_escape(line) for line in (box.title, *box.details))
            yield f'{indent}{name}{opening}"{text}"{closing}'
            continue
        heading = _escape(
            f"{box.title}: {', '.join(box.details)}"
        )  # one line: further ones cover what is inside
        yield f'{indent}subgraph {name}["{heading}"]'
        yield from _lines(box.body, names, indent + "  ")
        yield f"{indent}end"
    for arrow in diagram.arrows:
        label = "" if arrow.label is None else f'|"{_escape(arrow.label)}"|'
        source, target = (names.of(diagram.boxes[end]) for end in (arrow.source, arrow.target))
        yield f"{indent}{source} -->{label} {target}"


def _escape(text: str) -> str:
    """Quotes would end the text, `#` begins an entity, brackets HTML and shapes, and the rest would be Markdown."""
    return _MEANT.sub(lambda found: f"#{ord(found[0])};", text)
