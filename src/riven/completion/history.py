"""What the journal of a run holds, read back: events in the order in which they were taken in, with their values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import orjson

from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    CancelRequested,
    ExecutionStatus,
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
from riven.effects.history import Control, Earlier, History, Left, RunFacts, Taken
from riven.effects.recorder import StepEnded
from riven.wire.answers import answer_from_json
from riven.wire.document import Json

_NODES = load("riven.completion", "history_nodes")
_SCOPES = load("riven.completion", "history_scopes")
_SIGNALS = load("riven.completion", "history_signals")
_SINCE_NODES = load("riven.completion", "since_nodes")
_SINCE_SCOPES = load("riven.completion", "since_scopes")
_SINCE_SIGNALS = load("riven.completion", "since_signals")
_FACTS = load("riven.completion", "facts")
_CONTROLS = "SELECT id, kind, name, path, payload, created_at FROM signals WHERE id = ANY ($1::uuid[])"
_ASKED = (SignalReceived, CancelRequested, PauseRequested, ResumeRequested)


async def load_history(connection: Connection, execution_id: UUID, run: int, base_seq: int) -> History:
    """`base_seq`: where the journal of this run begins; what stands before it is of earlier runs."""
    nodes = await connection.fetch(_NODES, execution_id)
    scopes = await connection.fetch(_SCOPES, execution_id)
    signals = await connection.fetch(_SIGNALS, execution_id, run)
    taken: list[Taken] = []
    attempts: dict[NodePath, int] = {}
    loose: list[StepEnded] = []
    of_earlier = []
    for row in nodes:
        if row["run"] < run:
            of_earlier.append(row)
            continue
        attempts[NodePath(row["path"])] = row["attempt"]
        taken += _of_node(row)
        loose += _loose_of_node(row)
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
        loose=[*loose, *(each for row in scopes if row["run"] == run for each in _loose_of_scope(row))],
    )


@dataclass(frozen=True, slots=True)
class Since:
    """What a journal that several processes write has got since somebody read it last."""

    taken: Sequence[Taken]
    loose: Sequence[StepEnded]
    """Answers that are recorded, though nobody has taken them in."""
    attempts: Mapping[NodePath, int]


async def load_since(connection: Connection, execution_id: UUID, run: int, after: int) -> Since:
    nodes = await connection.fetch(_SINCE_NODES, execution_id, run, after)
    scopes = await connection.fetch(_SINCE_SCOPES, execution_id, run, after)
    signals = await connection.fetch(_SINCE_SIGNALS, execution_id, run, after)
    taken = [each for row in nodes for each in _of_node(row)]
    taken += [each for row in scopes for each in _of_scope(row)]
    taken += [_of_signal(row) for row in signals]
    loose = [each for row in nodes for each in _loose_of_node(row)]
    loose += [each for row in scopes for each in _loose_of_scope(row)]
    taken = sorted((each for each in taken if each.seq > after), key=_seq)
    return Since(list(_in_time(taken)), loose, {NodePath(row["path"]): row["attempt"] for row in nodes})


async def load_facts(connection: Connection, execution_id: UUID) -> RunFacts | None:
    row = await connection.fetch_row(_FACTS, execution_id)
    if row is None:
        return None
    started = row["started_at"] or row["now"]
    return RunFacts(
        execution_id=row["id"],
        run=row["run"],
        token=row["token"],
        status=ExecutionStatus(row["status"]),
        workspace_id=row["workspace_id"],
        workspace_name=row["workspace_name"],
        workflow=row["workflow_name"],
        version=row["version"],
        version_id=row["workflow_definition_version_id"],
        input=row["input"],
        trigger=row["trigger"],
        started_at=milliseconds(started),
        run_started_at=milliseconds(row["run_started_at"] or started),
        frozen=row["retry_defaults"],
        base_seq=row["base_seq"],
        asked=row["asked"],
        error_type=row["error_type"],
    )


async def load_controls(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, Control]:
    return {row["id"]: _control(row) for row in await connection.fetch(_CONTROLS, list(ids))}


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
    return Left(
        NodeStatus(row["settled"] or row["status"]),
        seq=row["seq"] or row["expanded_seq"] or 0,
        attempt=row["attempt"],
        outcome=row["outcome"],
        output=_output(row),
        error=_error(row),
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
    """Answers that were taken in."""
    found: list[Taken] = []
    if row["expanded"] is not None and row["expanded_seq"] is not None:
        ended = _expanded(row)
        found.append(Taken(row["expanded_seq"], ended.answer, ended, row["input"]))
    if row["answer"] is not None and row["seq"] is not None:
        ended = _answered(row)
        found.append(Taken(row["seq"], ended.answer, ended, row["input"]))
    return found


def _loose_of_node(row: Row) -> list[StepEnded]:
    """Answers that are recorded, though nobody has taken them in."""
    found: list[StepEnded] = []
    if row["expanded"] is not None and row["expanded_seq"] is None:
        found.append(_expanded(row))
    if row["answer"] is not None and row["seq"] is None:
        found.append(_answered(row))
    return found


def _expanded(row: Row) -> StepEnded:
    answer = answer_from_json(NodePath(row["path"]), row["expanded"]["answer"])
    error = None if isinstance(answer, NodeCompleted) else _error(row)
    return StepEnded(answer, Step.EXPAND, row["attempt"], row["expanded"]["output"], error)


def _answered(row: Row) -> StepEnded:
    answer = answer_from_json(NodePath(row["path"]), row["answer"])
    error = None if isinstance(answer, NodeCompleted) else _error(row)
    step = Step.RUN if row["expanded"] is None else Step.OUTPUT
    return StepEnded(answer, step, row["attempt"], _output(row), error)


def _error(row: Row) -> Json:
    if row["error_type"] is None:
        return None
    return {"type": row["error_type"], "message": row["error_message"]}


def _of_scope(row: Row) -> list[Taken]:
    found: list[Taken] = []
    if row["answer"] is not None and row["seq"] is not None:
        ended = _scope_output(row)
        found.append(Taken(row["seq"], ended.answer, ended))
    if row["checked"] is not None and row["checked_seq"] is not None:
        ended = _scope_checked(row)
        found.append(Taken(row["checked_seq"], ended.answer, ended))
    return found


def _loose_of_scope(row: Row) -> list[StepEnded]:
    found: list[StepEnded] = []
    if row["answer"] is not None and row["seq"] is None:
        found.append(_scope_output(row))
    if row["checked"] is not None and row["checked_seq"] is None:
        found.append(_scope_checked(row))
    return found


def _scope_output(row: Row) -> StepEnded:
    answer = answer_from_json(NodePath(row["path"]), row["answer"])
    return StepEnded(answer, Step.OUTPUT, 1, _output(row), row["error"])


def _scope_checked(row: Row) -> StepEnded:
    return StepEnded(answer_from_json(NodePath(row["path"]), row["checked"]), Step.CHECK, 1)


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
