import pytest

from riven.catalog.pins import called_versions, pin_calls
from riven.wire.document import BodyDocument, Document, NodeDocument


def call(key: str, workflow: str, version: int | None = None) -> NodeDocument:
    config = {"workflow": workflow} if version is None else {"workflow": workflow, "version": version}
    return NodeDocument(key=key, type="call", config=config)


def document(*nodes: NodeDocument, **calls: Document) -> Document:
    return Document(name="x", nodes={node.key: node for node in nodes}, calls=calls)


def test_what_is_called_without_a_version_gets_one() -> None:
    b, c = Document(name="b"), Document(name="c")
    pinned = pin_calls(document(call("one", "b"), call("two", "c", 7), b=b, **{"c@7": c}), {"b": 3})
    assert pinned.nodes["one"].config == {"workflow": "b", "version": 3}
    assert pinned.nodes["two"].config == {"workflow": "c", "version": 7}
    assert pinned.calls == {"b@3": b, "c@7": c}
    assert list(called_versions(pinned)) == [("c", 7), ("b", 3)]


def test_calls_in_bodies_are_pinned_too() -> None:
    inner = NodeDocument(key="r", type="repeat", body=BodyDocument(nodes={"x": call("x", "b")}))
    outer = NodeDocument(key="each", type="for_each", body=BodyDocument(nodes={"r": inner}))
    pinned = pin_calls(document(outer, b=Document(name="b")), {"b": 1})
    body = pinned.nodes["each"].body
    assert body is not None
    assert body.nodes["r"].body is not None
    assert body.nodes["r"].body.nodes["x"].config["version"] == 1
    assert list(called_versions(pinned)) == [("b", 1)]


def test_a_document_that_calls_nothing_is_itself() -> None:
    plain = document(NodeDocument(key="a", type="noop"))
    assert pin_calls(plain, {}) is plain


def test_what_two_nodes_call_at_one_version_is_kept_once() -> None:
    b = Document(name="b")
    pinned = pin_calls(document(call("one", "b"), call("two", "b", 3), b=b, **{"b@3": b}), {"b": 3})
    assert list(pinned.calls) == ["b@3"]


def test_a_call_of_which_no_version_is_known_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        pin_calls(document(call("one", "b"), b=Document(name="b")), {})
