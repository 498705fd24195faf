from riven.nodes.registry import Registry
from riven.wire.document import BodyDocument, Document, NodeDocument
from riven.wire.outline import Entered, outline


def node(key: str, type: str = "noop", **options) -> NodeDocument:
    return NodeDocument(key=key, type=type, **options)


def nodes(*listed: NodeDocument) -> dict[str, NodeDocument]:
    return {each.key: each for each in listed}


CALLED = Document(name="called", nodes=nodes(node("x"), node("y")))
DOCUMENT = Document(
    name="outer",
    nodes=nodes(
        node("first"),
        node("each", "for_each", body=BodyDocument(nodes=nodes(
            node("poll", "repeat", body=BodyDocument(nodes=nodes(node("look")))), node("send"),
        ))),
        node("sub", "call", config={"workflow": "called"}),
        node("last"),
    ),
    calls={"called": CALLED},
)  # fmt: skip


def paths(*known: str) -> list[str]:
    return [each.path for each in outline(DOCUMENT, Entered.by(known))]


def test_a_run_of_which_nothing_is_known_has_the_nodes_of_its_outermost_scope():
    assert paths() == ["first", "each", "sub", "last"]


def test_every_node_of_an_entered_scope_is_named_in_order_of_index():
    assert paths("each[10].send", "each[2].poll[1].look", "sub.y") == [
        "first", "each",
        "each[2].poll", "each[2].poll[1].look", "each[2].send",
        "each[10].poll", "each[10].send",
        "sub", "sub.x", "sub.y", "last",
    ]  # fmt: skip


def test_places_sort_as_the_outline_goes():
    places = [
        each.place for each in outline(DOCUMENT, Entered.by(["each[10].send", "each[2].send", "sub.x"]))
    ]
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_the_type_of_a_call_is_that_of_the_registry():
    assert Registry.discover().get("call") is not None
