"""Events in any pieces."""

import pytest

from riven.client.events import EventParser, ServerEvent

TEXT = (
    ": hello\n\n"
    'event: snapshot\nid: 1\ndata: {"a":\ndata:  1}\n\n'
    "event: nothing\n\n"
    "retry: 10\nid: 2\r\nevent: node\r\ndata: {}\r\n\r\n"
    'data: {"text":"ü\u2028x"}\n\n'
    "event: node\ndata: {}\n"
)
EVENTS = [
    ServerEvent("snapshot", {"a": 1}, "1"),
    ServerEvent("node", {}, "2"),
    ServerEvent("message", {"text": "ü\u2028x"}, "2"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_events_are_read_whatever_pieces_they_come_in(size: int) -> None:
    data, parser = TEXT.encode(), EventParser()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [event for piece in pieces for event in parser.feed(piece)] == EVENTS
