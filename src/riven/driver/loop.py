"""The one loop between the coordinator and a performer, the same for every engine.

Take in all events that are there, decide, record once, act. Nothing here waits for anything but the inbox and the
record, and nothing depends on time, chance or the order of a set, so a replay goes the same way.
"""

from collections.abc import Sequence
from typing import Protocol

from riven.core.errors import ErrorClass
from riven.core.messages import Command, Event, ExecutionStatus, Finish, NodeFailed, SettleNode, StartNode
from riven.driver.inbox import Inbox
from riven.driver.performer import Batch, Performer


class Decider(Protocol):
    """The coordinator, as seen from here."""

    def receive(self, event: Event) -> Sequence[Command]: ...


async def drive(
    coordinator: Decider, performer: Performer, inbox: Inbox, first: Event | None = None, *, seq: int = 1
) -> Finish:
    """Run to the end and tell how it ended.

    Args:
        coordinator: what decides.
        performer: what acts, and records before it acts.
        inbox: where the performer and the outside post events.
        first: the event that sets the run off; None if the inbox holds it already.
        seq: the number of the first event; later than 1 when a run goes on from a journal.
    """
    if first is not None:
        inbox.post(first)
    while True:
        events = await inbox.drain()
        taken, commands, finish = _decide(coordinator, events)
        await performer.record(Batch(seq, taken, commands))
        if finish is not None:
            return finish
        seq += len(taken)
        broken = _hand_out(performer, commands, inbox, events[-1].at)
        if broken is not None:
            await performer.record(Batch(seq, (), (broken,)))
            return broken


def _decide(
    coordinator: Decider, events: list[Event]
) -> tuple[Sequence[Event], list[Command], Finish | None]:
    """The events that were decided on (all, or those up to the end), what they lead to, and the end if it came."""
    commands: list[Command] = []
    for number, event in enumerate(events, 1):
        try:
            decided = coordinator.receive(event)
        except Exception as error:  # noqa: BLE001  a bug of ours must end the run, not leave it hanging
            # What was asked for in this batch must not begin any more; what was settled is true all the same.
            settled: list[Command] = [c for c in commands if isinstance(c, SettleNode)]
            finish = _internal_error(error)
            return events[:number], [*settled, finish], finish
        commands += decided
        if decided and isinstance(decided[-1], Finish):
            return events[:number], commands, decided[-1]
    return events, commands, None


def _hand_out(performer: Performer, commands: list[Command], inbox: Inbox, at: int) -> Finish | None:
    """Let everything begin; a node that cannot even begin has failed. Anything else that goes wrong ends the run."""
    for command in commands:
        try:
            performer.perform(command)
        except Exception as error:  # noqa: BLE001  whatever it is, each StartNode has its answer
            if not isinstance(command, StartNode):
                return _internal_error(error)
            inbox.post(NodeFailed(command.path, at, ErrorClass.EXECUTION_ERROR, retryable=True))
    return None


def _internal_error(error: Exception) -> Finish:
    return Finish(
        ExecutionStatus.FAILED,
        error_class=ErrorClass.INTERNAL_ERROR,
        message=f"{type(error).__name__}: {error}",
    )
