import random
from itertools import combinations, pairwise

import pytest

from riven.cli.diagram import Diagram, draw_diagram
from riven.cli.layout import Drawing, PlacedBox, lay_out
from riven.core.graph import Edge, Graph, Node, NodeKind
from riven.core.ids import NodeKey
from riven.wire.document import Document, NodeDocument


def picture(graph: Graph, **names: str) -> Diagram:
    written = {key: NodeDocument(key=key, type="noop", name=name) for key, name in names.items()}
    return draw_diagram(graph, Document(name="picture", nodes=written))


def random_graph(count: int, seed: int) -> Graph:
    dice = random.Random(seed)
    keys = [f"node_{number}" for number in range(count)]
    nodes = [Node(key=NodeKey(key), type=dice.choice(["noop", "http_request"])) for key in keys]
    edges = []
    for target in range(1, count):
        for source in sorted(
            {dice.randrange(max(0, target - 20), target) for _ in range(dice.randint(0, 3))}
        ):
            label = dice.choice([None, None, "failure", "a rather long label"])
            edges.append(Edge(NodeKey(keys[source]), NodeKey(keys[target]), label))
    return Graph(tuple(nodes), tuple(edges))


def nested_graph(levels: int) -> Graph:
    inner = Graph.of(["first", "second", "third"], [("first", "second"), ("first", "third")])
    for level in range(levels):
        container = Node(key=NodeKey(f"level{level}"), type="for_each", kind=NodeKind.FOR_EACH, body=inner)
        beside = Graph.of(["before", "beside"], [])
        inner = Graph(
            (*beside.nodes, container),
            (Edge(NodeKey("before"), container.key), Edge(NodeKey("before"), NodeKey("beside"))),
        )
    return inner


def overlapping(one: PlacedBox, other: PlacedBox) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def inside(inner: PlacedBox, outer: PlacedBox) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width
        and inner.y + inner.height <= outer.y + outer.height
    )


def assert_apart(drawing: Drawing) -> None:
    for one, other in combinations(drawing.boxes, 2):
        assert not overlapping(one, other), (one.box.path, other.box.path)
    for placed in drawing.boxes:
        if placed.body is not None:
            assert all(inside(inner, placed) for inner in placed.body.boxes)
            assert_apart(placed.body)


@pytest.mark.parametrize("count", [1, 2, 7, 30, 100, 300, 500])
def test_boxes_never_overlap(count: int) -> None:
    for seed in range(3):
        assert_apart(lay_out(picture(random_graph(count, seed))))


@pytest.mark.parametrize("levels", range(1, 9))
def test_bodies_lie_inside_their_containers(levels: int) -> None:
    assert_apart(lay_out(picture(nested_graph(levels))))


@pytest.mark.parametrize("seed", range(5))
def test_arrows_keep_clear_of_every_box_that_they_do_not_join(seed: int) -> None:
    drawing = lay_out(picture(random_graph(60, seed)))
    for route in drawing.arrows:
        for index, placed in enumerate(drawing.boxes):
            if index in (route.arrow.source, route.arrow.target):
                continue
            for here, there in pairwise(route.points):
                left, right = sorted((here.x, there.x))
                clear = (
                    right <= placed.x
                    or left >= placed.x + placed.width
                    or there.y <= placed.y
                    or here.y >= placed.y + placed.height
                )
                assert clear, (route.arrow, placed.box.path)


@pytest.mark.parametrize("seed", range(5))
def test_every_arrow_points_down_from_its_source_to_its_target(seed: int) -> None:
    drawing = lay_out(picture(random_graph(60, seed)))
    for route in drawing.arrows:
        source, target = drawing.boxes[route.arrow.source], drawing.boxes[route.arrow.target]
        heights = [point.y for point in route.points]
        assert heights == sorted(heights)
        assert heights[0] == source.y + source.height
        assert heights[-1] == target.y
        assert source.x < route.points[0].x < source.x + source.width
        assert target.x < route.points[-1].x < target.x + target.width


def test_labels_cover_neither_boxes_nor_each_other() -> None:
    labels = ["approved", "rejected", "expired", "failure"]
    keys = ["ask", *labels]
    nodes = tuple(Node(key=NodeKey(key), type="noop") for key in keys)
    drawing = lay_out(
        picture(Graph(nodes, tuple(Edge(NodeKey("ask"), NodeKey(label), label) for label in labels)))
    )
    centres = sorted(route.label.x for route in drawing.arrows if route.label is not None)
    assert len(centres) == 4
    assert all(right - left > 40 for left, right in pairwise(centres))
    for route in drawing.arrows:
        assert route.label is not None
        for placed in drawing.boxes:
            assert not placed.y < route.label.y < placed.y + placed.height


def test_a_diamond_is_drawn_without_crossing() -> None:
    graph = Graph.of(
        ["a", "b", "c", "d", "e"], [("a", "c"), ("a", "b"), ("b", "e"), ("c", "d"), ("b", "d"), ("c", "e")]
    )
    boxes = {placed.box.key: placed for placed in lay_out(picture(graph)).boxes}
    assert boxes["a"].y < boxes["b"].y == boxes["c"].y < boxes["d"].y == boxes["e"].y


def test_many_boxes_without_arrows_do_not_stand_in_one_row() -> None:
    drawing = lay_out(picture(Graph.of([f"n{number}" for number in range(200)], [("n0", "n1")])))
    assert_apart(drawing)
    assert drawing.width < 4 * drawing.height


def test_a_graph_too_large_to_be_read_is_still_drawn() -> None:
    keys = [f"n{number}" for number in range(1_500)]
    edges = [*pairwise(keys), *((keys[0], key) for key in keys[2:])]
    drawing = lay_out(picture(Graph.of(keys, edges)))
    assert len(drawing.boxes) == 1_500
    assert len(drawing.arrows) == len(edges)
