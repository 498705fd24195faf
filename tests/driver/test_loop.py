import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from riven.core.errors import ErrorClass, StuckExecutionError
from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    CancelRequested,
    Command,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    Finish,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    SettleNode,
    StartNode,
    StartTimer,
)
from riven.driver.inbox import Inbox
from riven.driver.loop import drive
from riven.driver.performer import Batch

START = ExecutionStarted(0)
DONE = Finish(ExecutionStatus.COMPLETED)


def start(path: str) -> StartNode:
    return StartNode(NodePath(path))


def completed(path: str, at: int = 1) -> NodeCompleted:
    return NodeCompleted(NodePath(path), at)


@dataclass
class Script:
    """A decider that answers each event by what a test says."""

    decide: Callable[[Event], Sequence[Command]]
    received: list[Event] = field(default_factory=list)

    def receive(self, event: Event) -> Sequence[Command]:
        self.received.append(event)
        return self.decide(event)


@dataclass
class Notebook:
    """A performer that writes down what it is told and does what a test says."""

    act: Callable[[Command], None] = lambda _: None
    batches: list[Batch] = field(default_factory=list)
    log: list[object] = field(default_factory=list)
    before_record: Callable[[], None] = lambda: None

    async def record(self, batch: Batch) -> None:
        self.before_record()
        self.batches.append(batch)
        self.log.append(("record", batch.seq))

    def perform(self, command: Command) -> None:
        self.log.append(("perform", command))
        self.act(command)


async def test_commands_are_performed_in_order_after_they_were_recorded():
    inbox = Inbox()
    commands = [start("a"), StartTimer(TimerId("t"), 5), start("b")]
    decider = Script(lambda event: commands if event == START else [DONE])

    performer = Notebook(act=lambda command: inbox.post(completed("a")) if command == commands[-1] else None)
    finish = await drive(decider, performer, inbox, START)

    assert finish == DONE
    assert performer.log == [("record", 1), *(("perform", command) for command in commands), ("record", 2)]


async def test_all_events_that_are_there_make_one_batch_with_growing_numbers():
    inbox = Inbox()
    answers = [completed("a", 1), completed("b", 2), completed("c", 3)]

    def act(_: Command) -> None:
        for answer in answers:
            inbox.post(answer)

    decider = Script(lambda event: [start("a")] if event == START else [DONE] if event == answers[-1] else [])
    performer = Notebook(act=act)
    await drive(decider, performer, inbox, START, seq=7)

    assert [(batch.seq, list(batch.events)) for batch in performer.batches] == [(7, [START]), (8, answers)]


async def test_events_behind_the_end_are_not_decided_on():
    inbox = Inbox()
    inbox.post(START)
    inbox.post(CancelRequested(1))
    decider = Script(lambda _: [DONE])
    performer = Notebook()

    await drive(decider, performer, inbox, None)

    assert decider.received == [START]
    assert list(performer.batches[0].events) == [START]


async def test_an_event_posted_while_a_batch_is_recorded_waits_for_the_next():
    inbox = Inbox()
    late = completed("late")
    performer = Notebook()
    performer.before_record = lambda: inbox.post(late) if not performer.batches else None
    decider = Script(lambda event: [DONE] if event == late else [])

    await drive(decider, performer, inbox, START)

    assert [list(batch.events) for batch in performer.batches] == [[START], [late]]


async def test_an_event_posted_later_wakes_the_loop():
    inbox = Inbox()
    decider = Script(lambda event: [DONE] if event == completed("a") else [start("a")])
    asyncio.get_running_loop().call_later(0.001, inbox.post, completed("a"))

    assert await drive(decider, Notebook(), inbox, START) == DONE


async def test_a_node_that_cannot_begin_has_failed():
    inbox = Inbox()

    def refuse(_: Command) -> None:
        raise OSError("no room")

    decider = Script(lambda event: [start("a"), start("b")] if event == START else [])
    decider.decide = lambda event: (
        [start("a"), start("b")]
        if event == START
        else [DONE]
        if isinstance(event, NodeFailed) and event.path == "b"
        else []
    )
    await drive(decider, Notebook(act=refuse), inbox, ExecutionStarted(0))

    failed = [event for event in decider.received if isinstance(event, NodeFailed)]
    assert [(event.path, event.error_class, event.at) for event in failed] == [
        ("a", ErrorClass.EXECUTION_ERROR, 0),
        ("b", ErrorClass.EXECUTION_ERROR, 0),
    ]


async def test_a_stuck_coordinator_ends_the_run_and_names_the_nodes():
    inbox = Inbox()
    inbox.post(START)
    inbox.post(completed("a"))
    skipped = SettleNode(NodePath("z"), NodeStatus.SKIPPED)

    def decide(event: Event) -> Sequence[Command]:
        if event == START:
            return [skipped, start("b")]
        raise StuckExecutionError("nothing is ready, left over: b, c")

    performer = Notebook()
    finish = await drive(Script(decide), performer, inbox, None)

    assert finish.status is ExecutionStatus.FAILED
    assert finish.error_class is ErrorClass.INTERNAL_ERROR
    assert "b, c" in (finish.message or "")
    assert list(performer.batches[0].commands) == [skipped, finish]
    assert performer.log == [("record", 1)], "nothing begins any more"


async def test_a_command_that_breaks_ends_the_run_and_is_recorded():
    def refuse(_: Command) -> None:
        raise ValueError("no such clock")

    decider = Script(lambda _: [StartTimer(TimerId("t"), 5), start("a")])
    performer = Notebook(act=refuse)
    finish = await drive(decider, performer, Inbox(), START)

    assert finish.error_class is ErrorClass.INTERNAL_ERROR
    assert "no such clock" in (finish.message or "")
    assert list(performer.batches[-1].commands) == [finish]
    assert ("perform", start("a")) not in performer.log


async def test_a_record_that_fails_ends_the_loop_before_anything_begins():
    def fail() -> None:
        raise ConnectionError("the database is away")

    performer = Notebook(before_record=fail)
    with pytest.raises(ConnectionError):
        await drive(Script(lambda _: [start("a")]), performer, Inbox(), START)

    assert performer.log == []
