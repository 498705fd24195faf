import random
from xml.etree import ElementTree as ET

import pytest

from riven.cli.diagram import Diagram, draw_diagram
from riven.cli.svg import svg_text
from riven.core.graph import Graph
from riven.wire.document import Document, NodeDocument

SVG = "{http://www.w3.org/2000/svg}"


def picture(graph: Graph, **names: str) -> Diagram:
    written = {key: NodeDocument(key=key, type="noop", name=name) for key, name in names.items()}
    return draw_diagram(graph, Document(name="picture", nodes=written))


def random_graph(count: int, seed: int) -> Graph:
    dice = random.Random(seed)
    keys = [f"node_{number}" for number in range(count)]
    return Graph.of(keys, [(keys[dice.randrange(target)], keys[target]) for target in range(1, count)])


def test_an_empty_graph_is_a_picture_with_a_title() -> None:
    root = ET.fromstring(svg_text(picture(Graph())))
    assert root.findtext(f"{SVG}title") == "picture"


@pytest.mark.parametrize("count", [30, 300])
def test_the_picture_is_well_formed_and_shows_every_box_within_its_edges(count: int) -> None:
    root = ET.fromstring(svg_text(picture(random_graph(count, 1))))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [rect for rect in root.iter(f"{SVG}rect") if rect.attrib["class"].startswith("box")]
    assert len(boxes) == count
    assert all(float(box.attrib["x"]) + float(box.attrib["width"]) <= width for box in boxes)
    assert all(float(box.attrib["y"]) + float(box.attrib["height"]) <= height for box in boxes)
    titles = [text.text for text in root.iter(f"{SVG}text") if text.attrib["class"] == "title"]
    assert titles == [f"node_{number}" for number in range(count)]


def test_odd_names_are_escaped() -> None:
    odd = "a <b>\"&' \x00\x1b[31m 北京 \ud800 ]]>"
    root = ET.fromstring(svg_text(picture(Graph.of(["odd"], []), odd=odd)))
    (title,) = [text.text for text in root.iter(f"{SVG}text") if text.attrib["class"] == "title"]
    assert title is not None
    assert title.startswith("a <b>\"&' ")
    assert "北京" in title
    assert "\x1b" not in title


def test_the_picture_names_no_address_outside_itself() -> None:
    text = svg_text(picture(random_graph(5, 1)))
    assert text.count("http://") == 1  # the name space
    assert "https://" not in text
    assert "<script" not in text
