from riven.core.ids import NodePath
from riven.engines.embedded.mailbox import Mailbox, Message

A, B = NodePath("a"), NodePath("b")


def said(payload):
    return Message(payload, 0)


def test_a_signal_goes_to_who_waits_longest():
    box = Mailbox()
    assert box.wait("paid", A) is None
    assert box.wait("paid", B) is None

    assert [box.send("paid", said(n)) for n in range(2)] == [A, B]


def test_early_signals_are_kept_in_order_and_by_name():
    box = Mailbox()
    assert box.send("paid", said(1)) is None
    assert box.send("paid", said(2)) is None
    assert box.send("sent", said(3)) is None

    assert [box.wait("paid", A), box.wait("paid", B), box.wait("sent", A), box.wait("paid", A)] == [
        said(1),
        said(2),
        said(3),
        None,
    ]


def test_a_payload_of_null_is_a_payload():
    box = Mailbox()
    box.send("paid", said(None))

    assert box.wait("paid", A) == said(None)


def test_who_left_gets_nothing():
    box = Mailbox()
    box.wait("paid", A)
    box.wait("paid", B)
    box.leave("paid", A)
    box.leave("paid", A)
    box.leave("unknown", A)

    assert box.send("paid", said(1)) == B


def test_what_came_too_late_is_for_the_next():
    box = Mailbox()
    box.send("paid", said(2))
    box.give_back("paid", said(1))

    assert [box.wait("paid", A), box.wait("paid", B)] == [said(1), said(2)]
