"""A diagram in Graphviz's language: `riven graph FILE --format dot | dot -Tpng`."""

from collections.abc import Iterator

from riven.cli.diagram import Diagram, Shape

_SHAPES = {
    Shape.ACTION: 'shape=box, style="rounded,filled", fillcolor="#ffffff"',
    Shape.CHOICE: 'shape=diamond, style=filled, fillcolor="#fff7e0"',
    Shape.WAIT: 'shape=box, style="rounded,filled,dashed", fillcolor="#f4efff"',
    Shape.CONTAINER: 'shape=box, style="filled", fillcolor="#e8eef6"',
}


def dot_text(diagram: Diagram) -> str:
    return "\n".join(
        [
            f"digraph {_quote(diagram.title)} {{",
            "  graph [rankdir=TB, compound=true, fontname=Helvetica, fontsize=11];",
            "  node [fontname=Helvetica, fontsize=11];",
            "  edge [fontname=Helvetica, fontsize=10];",
            *_lines(diagram, "  "),
            "}",
            "",
        ]
    )


def _lines(diagram: Diagram, indent: str) -> Iterator[str]:
    for box in diagram.boxes:
        text = _quote("\n".join((box.title, *box.details)))
        node = f"{_quote(box.path)} [label={text}, {_SHAPES[box.shape]}];"
        if box.body is None:
            yield indent + node
            continue
        # An edge of Graphviz cannot end at a cluster: the container's own box stands in it, and leads to its roots.
        yield f"{indent}subgraph {_quote('cluster ' + box.path)} {{"
        yield f'{indent}  style="rounded,filled"; fillcolor="#f6f8fb"; color="#9fb0c3";'
        yield f"{indent}  {node}"
        yield from _lines(box.body, indent + "  ")
        followers = {arrow.target for arrow in box.body.arrows}
        for index, inner in enumerate(box.body.boxes):
            if index not in followers:
                yield f"{indent}  {_quote(box.path)} -> {_quote(inner.path)} [style=dotted, arrowhead=none];"
        yield f"{indent}}}"
    for arrow in diagram.arrows:
        source, target = diagram.boxes[arrow.source], diagram.boxes[arrow.target]
        told = [] if arrow.label is None else [f"label={_quote(arrow.label)}"]
        if source.body is not None:
            told.append(f"ltail={_quote('cluster ' + source.path)}")
        attributes = f" [{', '.join(told)}]" if told else ""
        yield f"{indent}{_quote(source.path)} -> {_quote(target.path)}{attributes};"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
