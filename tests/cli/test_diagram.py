from riven.cli.diagram import Shape, draw_diagram
from riven.core.graph import Edge, Graph, Join, JoinRule, Node, NodeKind
from riven.core.ids import NodeKey
from riven.wire.document import BodyDocument, Document, NodeDocument


def node(key: str, type: str = "noop", **fields: object) -> Node:
    return Node(key=NodeKey(key), type=type, **fields)  # type: ignore[arg-type]


def test_a_box_tells_its_type_and_a_join_that_is_not_the_default() -> None:
    graph = Graph(
        (
            node("plain"),
            node("early", join=Join(JoinRule.ANY)),
            node("two", join=Join(JoinRule.AT_LEAST, 2)),
            node("finally", join=Join(JoinRule.ALL_DONE)),
        )
    )
    boxes = draw_diagram(graph, Document(name="w")).boxes
    assert [box.details for box in boxes] == [
        ("noop",),
        ("noop", "join any"),
        ("noop", "join at least 2"),
        ("noop", "join all_done"),
    ]


def test_a_named_node_shows_its_name_and_below_it_its_key() -> None:
    document = Document(
        name="w", nodes={"ask": NodeDocument(key="ask", type="approval", name="Ask\nthe boss")}
    )
    graph = Graph(
        (node("ask", "approval", kind=NodeKind.SIGNAL, labels=("approved", "rejected", "expired")),)
    )
    (box,) = draw_diagram(graph, document).boxes
    assert (box.title, box.details, box.shape) == ("Ask the boss", ("ask: approval",), Shape.WAIT)


def test_long_names_are_shortened() -> None:
    document = Document(name="w", nodes={"a": NodeDocument(key="a", type="noop", name="x" * 500)})
    (box,) = draw_diagram(Graph((node("a"),)), document).boxes
    assert len(box.title) == 48
    assert box.title.endswith("…")


def test_bodies_are_diagrams_within_their_box_and_take_their_names_from_the_body() -> None:
    body = Graph((node("send"), node("note")), (Edge(NodeKey("send"), NodeKey("note"), "failure"),))
    graph = Graph((node("each", "for_each", kind=NodeKind.FOR_EACH, body=body),))
    inner = BodyDocument(nodes={"send": NodeDocument(key="send", type="noop", name="Send it")})
    document = Document(name="w", nodes={"each": NodeDocument(key="each", type="for_each", body=inner)})
    (box,) = draw_diagram(graph, document).boxes
    assert box.shape is Shape.CONTAINER
    assert box.body is not None
    assert [(inner.path, inner.title) for inner in box.body.boxes] == [
        ("each.send", "Send it"),
        ("each.note", "note"),
    ]
    assert [(arrow.source, arrow.target, arrow.label) for arrow in box.body.arrows] == [(0, 1, "failure")]


def test_a_call_shows_the_called_workflow() -> None:
    child = Document(name="child", nodes={"inner": NodeDocument(key="inner", type="noop", name="Inside")})
    graph = Graph((node("sub", "call", kind=NodeKind.CALL, body=Graph((node("inner"),))),))
    document = Document(
        name="w",
        nodes={"sub": NodeDocument(key="sub", type="call", config={"workflow": "child"})},
        calls={"child": child},
    )
    (box,) = draw_diagram(graph, document).boxes
    assert box.details == ("call child",)
    assert box.body is not None
    assert box.body.boxes[0].title == "Inside"


def test_a_node_that_chooses_has_a_shape_of_its_own() -> None:
    graph = Graph((node("large", "condition", labels=("true", "false")),))
    assert draw_diagram(graph, Document(name="w")).boxes[0].shape is Shape.CHOICE
