"""What the journal of a run holds, read back: events in the order in which they were taken in, with their values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import orjson

from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    CancelRequested,
    NodeCompleted,
    NodeStatus,
    PauseRequested,
    ResumeRequested,
    SignalReceived,
    Step,
    TimerFired,
)
from riven.db.engine import Connection, Row
from riven.db.statements import load
from riven.effects.history import Control, Earlier, History, Left, Taken
from riven.effects.recorder import StepEnded
from riven.wire.answers import answer_from_json
from riven.wire.document import Json

_NODES = load("riven.completion", "history_nodes")
_SCOPES = load("riven.completion", "history_scopes")
_SIGNALS = load("riven.completion", "history_signals")
_ASKED = (SignalReceived, CancelRequested, PauseRequested, ResumeRequested)


async def load_history(connection: Connection, execution_id: UUID, run: int, base_seq: int) -> History:
    """`base_seq`: where the journal of this run begins; what stands before it is of earlier runs."""
    nodes = await connection.fetch(_NODES, execution_id)
    scopes = await connection.fetch(_SCOPES, execution_id)
    signals = await connection.fetch(_SIGNALS, execution_id, run)
    taken: list[Taken] = []
    attempts: dict[NodePath, int] = {}
    of_earlier = []
    for row in nodes:
        if row["run"] < run:
            of_earlier.append(row)
            continue
        attempts[NodePath(row["path"])] = row["attempt"]
        taken += _of_node(row)
    earlier = _earlier(of_earlier, scopes, base_seq) if of_earlier else None
    for row in scopes:
        taken += [each for each in _of_scope(row) if each.seq > base_seq]
    taken += [_of_signal(row) for row in signals if row["seq"] is not None]
    taken.sort(key=_seq)
    return History(
        list(_in_time(taken)),
        attempts,
        unread=[_control(row) for row in signals if row["seq"] is None],
        next_seq=(taken[-1].seq if taken else base_seq) + 1,
        revision=max((row["revision"] for row in nodes), default=0),
        earlier=earlier,
    )


def _earlier(nodes: Sequence[Row], scopes: Sequence[Row], base_seq: int) -> Earlier:
    """What is left of earlier runs; `nodes` in the order of their runs and attempts."""
    found = Earlier()
    for row in nodes:
        path = NodePath(row["path"])
        if row["attempt"]:
            found.attempts[path] = max(row["attempt"], found.attempts.get(path, 0))
        before = found.nodes.get(path)
        found.nodes[path] = _left(row, before)
    for row in scopes:
        for each in _of_scope(row):
            if each.seq <= base_seq and each.ended is not None:
                kept = found.checks if each.ended.step is Step.CHECK else found.scopes
                kept[NodePath(row["path"])] = each
    return found


def _left(row: Row, before: Left | None) -> Left:
    expanded = row["expanded"]
    items = None if before is None else before.items
    if expanded is not None and "fanOut" in expanded["answer"]:
        items = expanded["output"]
    error = None
    if row["error_type"] is not None:
        error = {"type": row["error_type"], "message": row["error_message"]}
    return Left(
        NodeStatus(row["settled"] or row["status"]),
        seq=row["seq"] or row["expanded_seq"] or 0,
        attempt=row["attempt"],
        outcome=row["outcome"],
        output=_output(row),
        error=error,
        input=row["input"] if row["input"] is not None else before and before.input,
        items=items,
    )


async def load_unread(connection: Connection, execution_id: UUID, run: int) -> list[Control]:
    """What was asked of a run since it was last looked at."""
    rows = await connection.fetch(_SIGNALS, execution_id, run)
    return [_control(row) for row in rows if row["seq"] is None]


def _in_time(taken: Sequence[Taken]) -> Iterator[Taken]:
    """A control event has the time at which it was asked for, which may be long before anybody took it in."""
    latest = 0
    for each in taken:
        if isinstance(each.event, _ASKED) and each.event.at < latest:
            yield replace(each, event=replace(each.event, at=latest))
        else:
            latest = each.event.at
            yield each


def _seq(taken: Taken) -> int:
    return taken.seq


def _output(row: Row) -> Json:
    return row["output"] if row["blob"] is None else orjson.loads(row["blob"])


def _of_node(row: Row) -> list[Taken]:
    path, attempt = NodePath(row["path"]), row["attempt"]
    error = None
    if row["error_type"] is not None:
        error = {"type": row["error_type"], "message": row["error_message"]}
    found: list[Taken] = []
    expanded = row["expanded"]
    if expanded is not None:
        answer = answer_from_json(path, expanded["answer"])
        failed = not isinstance(answer, NodeCompleted)
        ended = StepEnded(answer, Step.EXPAND, attempt, expanded["output"], error if failed else None)
        found.append(Taken(row["expanded_seq"], answer, ended, row["input"]))
    if row["answer"] is not None:
        answer = answer_from_json(path, row["answer"])
        step = Step.RUN if expanded is None else Step.OUTPUT
        failed = not isinstance(answer, NodeCompleted)
        ended = StepEnded(answer, step, attempt, _output(row), error if failed else None)
        found.append(Taken(row["seq"], answer, ended, row["input"]))
    return found


def _of_scope(row: Row) -> list[Taken]:
    path = NodePath(row["path"])
    found: list[Taken] = []
    if row["answer"] is not None:
        answer = answer_from_json(path, row["answer"])
        found.append(Taken(row["seq"], answer, StepEnded(answer, Step.OUTPUT, 1, _output(row), row["error"])))
    if row["checked"] is not None:
        answer = answer_from_json(path, row["checked"])
        found.append(Taken(row["checked_seq"], answer, StepEnded(answer, Step.CHECK, 1)))
    return found


def _of_signal(row: Row) -> Taken:
    seq, payload, path = row["seq"], row["payload"], NodePath(row["path"] or "")
    at = milliseconds(row["created_at"])
    match row["kind"]:
        case "TIMER" | "DEADLINE":
            return Taken(seq, TimerFired(TimerId(row["name"]), payload["at"]))
        case "SIGNAL":
            return Taken(seq, SignalReceived(path, "received", at), message=payload, signal=row["name"])
        case "APPROVAL":
            return Taken(seq, SignalReceived(path, payload["decision"], at), message=payload)
        case "CANCEL":
            return Taken(seq, CancelRequested(at))
        case "PAUSE":
            return Taken(seq, PauseRequested(at))
        case _:
            return Taken(seq, ResumeRequested(at))


def _control(row: Row) -> Control:
    path = None if row["path"] is None else NodePath(row["path"])
    return Control(row["id"], row["kind"], row["name"], path, row["payload"], milliseconds(row["created_at"]))


def milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
