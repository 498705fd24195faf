"""Everything that travels comes back as it went, through the converter that clients and workers share."""

import dataclasses
import typing

import pytest
from temporalio.api.common.v1 import Payload
from tests.conformance.documents import REGISTRY, loaded
from tests.conformance.scenario import SCENARIOS

from riven.core.errors import ErrorClass
from riven.core.graph import Graph, RetryPolicy
from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    AwaitSignal,
    CancelRequested,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    PauseRequested,
    ResumeRequested,
    SignalReceived,
    StartNode,
    StartTimer,
    Step,
    TimerFired,
)
from riven.documents.normalise import build_graph
from riven.engines.temporal.converter import CONVERTER, LARGE
from riven.wire import temporal
from riven.wire.admission import freeze
from riven.wire.events import read_command, read_event, write_command, write_control
from riven.wire.graphs import graph_from_json, graph_to_json
from riven.wire.kept import Kept, KeptNode, KeptStep, kept_from_json, kept_to_json
from riven.wire.temporal import Taken

TAKEN = Taken(
    "e",
    1,
    2,
    3,
    [["a", "x"], ["t", 4, "retry:x"], ["s", 5, "row", "ask", "approved"]],
    freeze(1, RetryPolicy()),
)
VALUES = {
    str: "text",
    int: 7,
    bool: True,
    dict[str, typing.Any]: {"deep": {"er": [1, None, "x"]}},
    dict[str, str]: {"a": "completed"},
    list[list[typing.Any]]: [["start", "each[3].x", 1, "run", None, 5]],
    list[str]: ["a", "b"],
    Taken: TAKEN,
}
MESSAGES = [each for each in vars(temporal).values() if dataclasses.is_dataclass(each)]


def filled(message: type, value_of) -> object:
    hints = typing.get_type_hints(message)
    return message(**{each.name: value_of(hints[each.name]) for each in dataclasses.fields(message)})


def some(hint) -> object:
    """A value of this type; of one that may be None, the other."""
    kinds = [each for each in typing.get_args(hint) if each is not type(None)]
    return VALUES[hint] if hint in VALUES else VALUES[kinds[0]]


@pytest.mark.parametrize("message", MESSAGES, ids=[each.__name__ for each in MESSAGES])
async def test_every_message_comes_back(message):
    sent = filled(message, some)
    (back,) = await CONVERTER.decode(await CONVERTER.encode([sent]), [message])
    assert back == sent


async def test_what_is_large_travels_small_and_what_is_small_stays_readable():
    large = temporal.Begun("GO", graph={"nodes": [{"key": f"n{i}"} for i in range(1_000)], "edges": []})
    (payload,) = await CONVERTER.encode([large])
    assert payload.ByteSize() < LARGE
    (back,) = await CONVERTER.decode([Payload.FromString(payload.SerializeToString())], [temporal.Begun])
    assert back == large
    (small,) = await CONVERTER.encode([TAKEN])
    assert b"retry:x" in small.data


def without_types(graph: Graph) -> Graph:
    nodes = tuple(
        dataclasses.replace(node, type="", body=node.body and without_types(node.body))
        for node in graph.nodes
    )
    return dataclasses.replace(graph, nodes=nodes)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each.name for each in SCENARIOS])
def test_every_graph_comes_back(scenario):
    document = loaded(scenario).document
    assert document is not None
    graph = build_graph(document, REGISTRY)
    assert graph_from_json(graph_to_json(graph)) == without_types(graph)


@pytest.mark.parametrize(
    "command",
    [
        StartNode(NodePath("each[3].x"), 2, Step.RUN, 10, 5),
        StartNode(NodePath("x"), step=Step.OUTPUT),
        StartTimer(TimerId("wake:x"), 99),
        AwaitSignal(NodePath("x")),
    ],
)
def test_every_command_that_may_be_outstanding_comes_back(command):
    assert read_command(write_command(command)) == command


@pytest.mark.parametrize(
    "event",
    [SignalReceived(NodePath("x"), "approved", 5), CancelRequested(5), PauseRequested(5), ResumeRequested(5)],
)
def test_every_control_event_comes_back(event):
    assert read_event(write_control(event, "row")) == event


def test_timers_and_answers_that_nobody_recorded_come_back():
    assert read_event(["t", 5, "retry:x"]) == TimerFired(TimerId("retry:x"), 5)
    undone = NodeFailed(NodePath("x"), 5, ErrorClass.WORKER_LOST, canceled=True)
    assert read_event(["f", 5, "x", "WORKER_LOST", True]) == undone


def test_what_is_kept_comes_back():
    failed = NodeFailed(NodePath("e[0]"), 4, ErrorClass.TIMEOUT, jitter=0.5)
    kept = Kept(
        {NodePath("a"): KeptNode(NodeStatus.FAILED, 3, None, ErrorClass.TIMEOUT)},
        {NodePath("e[0]"): KeptStep(5, failed)},
        {NodePath("r[1]"): KeptStep(6, NodeCompleted(NodePath("r[1]"), 9, "again"))},
    )
    assert kept_from_json(kept_to_json(kept)) == kept
