"""The nodes of a run, in document order, each from the rows of its attempts.

Every node of the document is there, also those that never started, and every node of each body that was entered.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final
from uuid import UUID

import orjson

from riven.db.engine import Connection, Row
from riven.db.statements import load
from riven.wire.document import Document, Json
from riven.wire.outline import Entered, outline
from riven.wire.shown import show_attempt, show_node

_PAGE: Final = load("riven.views", "node_page")
_CHANGES: Final = load("riven.views", "node_changes")
_VALUES: Final = load("riven.views", "node_values")

MOST_BYTES: Final = 8 << 20
"""Of inputs and outputs as they are stored, in one answer; a page ends early by it, after one node at least."""

OPEN: Final = frozenset({"PENDING", "RUNNING", "WAITING", "RETRYING"})
_ENDS: Final = frozenset({"COMPLETED", "FAILED", "CANCELED"})


@dataclass(frozen=True, slots=True)
class After:
    """A node that was shown last: the next page begins behind it."""

    place: str
    path: str


@dataclass(frozen=True, slots=True)
class NodePage:
    items: Sequence[dict[str, Json]]
    after: After | None
    """None: this was the last page."""


@dataclass(frozen=True, slots=True)
class ChangedNode:
    revision: int
    shown: dict[str, Json]


@dataclass(frozen=True, slots=True)
class _Known:
    """A node and what its rows say, oldest first; no rows: it never started."""

    path: str
    place: str
    type: str
    name: str | None
    rows: Sequence[Row]


async def list_nodes(
    connection: Connection,
    execution_id: UUID,
    status: str,
    document: Document | None,
    *,
    after: After | None,
    limit: int,
) -> NodePage:
    """`status` is the execution's. Without a document only those nodes are there that have come to something."""
    wanted = limit + 1
    rows = await connection.fetch(_PAGE, execution_id, after and after.place, wanted)
    found = list(_merged(rows, document, after, complete=_places(rows) < wanted, limit=wanted))
    shown = _bounded(found[:limit])
    items = await _show(connection, execution_id, status, shown)
    more = len(found) > len(shown)
    return NodePage(items, After(shown[-1].place, shown[-1].path) if more and shown else None)


async def changed_nodes(
    connection: Connection,
    execution_id: UUID,
    status: str,
    document: Document | None,
    *,
    since: int,
    limit: int,
) -> list[ChangedNode]:
    """In the order of their changes; less than all of them if that is too much at once."""
    rows = await connection.fetch(_CHANGES, execution_id, since, limit)
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row["path"])]
    names = _names(document, [group[0]["path"] for group in groups])
    known = _bounded([_of_rows(group, names.get(group[0]["path"])) for group in groups])
    shown = await _show(connection, execution_id, status, known)
    return [ChangedNode(group[0]["latest"], each) for group, each in zip(groups, shown, strict=False)]


def _names(document: Document | None, paths: Sequence[str]) -> dict[str, str | None]:
    if document is None or not paths:
        return {}
    wanted = set(paths)
    return {each.path: each.node.name for each in outline(document, Entered.by(paths)) if each.path in wanted}


# ---- which nodes, in which order -----------------------------------------------------------------------------------------


def _places(rows: Sequence[Row]) -> int:
    return len({row["place"] for row in rows})


def _merged(
    rows: Sequence[Row], document: Document | None, after: After | None, *, complete: bool, limit: int
) -> Iterator[_Known]:
    """At most `limit` nodes behind `after`: those of `rows`, and those between and behind them that have none.

    `complete`: nothing stands in the table behind `rows`; otherwise nothing can be said of what stands behind them.
    """
    known = {path: list(group) for path, group in groupby(rows, key=lambda row: row["path"])}
    if document is None:
        yield from [_of_rows(group, None) for group in known.values()][:limit]
        return
    entered = Entered.by(known)
    if after is not None:
        entered.add(after.path)
    last = None if complete or not rows else rows[-1]["place"]
    count = 0
    for each in outline(document, entered):
        if after is not None and each.place <= after.place:
            continue
        if count >= limit or (last is not None and each.place > last):
            return
        count += 1
        yield _Known(each.path, each.place, each.node.type, each.node.name, known.get(each.path, ()))


def _of_rows(rows: Sequence[Row], name: str | None) -> _Known:
    return _Known(rows[0]["path"], rows[0]["place"], rows[0]["type"], name, rows)


def _bounded(nodes: Sequence[_Known]) -> list[_Known]:
    size = 0
    taken: list[_Known] = []
    for node in nodes:
        size += node.rows[-1]["size"] if node.rows else 0
        if taken and size > MOST_BYTES:
            break
        taken.append(node)
    return taken


# ---- how they are shown --------------------------------------------------------------------------------------------------


async def _show(
    connection: Connection, execution_id: UUID, status: str, nodes: Iterable[_Known]
) -> list[dict[str, Json]]:
    listed = list(nodes)
    with_rows = [node for node in listed if node.rows]
    values: dict[str, Row] = {}
    if with_rows:
        paths = [node.path for node in with_rows]
        attempts = [node.rows[-1]["attempt"] for node in with_rows]
        values = {row["path"]: row for row in await connection.fetch(_VALUES, execution_id, paths, attempts)}
    over = status in _ENDS
    return [_shown(node, values.get(node.path), over=over) for node in listed]


def _shown(node: _Known, values: Row | None, *, over: bool) -> dict[str, Json]:
    """`over`: the execution is; nothing of it is open any more, whatever a row that was left behind says."""
    if not node.rows:
        return show_node(
            path=node.path,
            type=node.type,
            name=node.name,
            status="CANCELED" if over else "PENDING",
            outcome=None,
            attempt=0,
            attempts=[],
            started_at=None,
            finished_at=None,
            input=None,
            output=None,
            error=None,
            skip_reason=None,
        )
    last = node.rows[-1]
    started = [row for row in node.rows if row["started_at"] is not None]
    status = _status(last)
    if over and status in OPEN:
        status = "CANCELED"
    ended = status not in OPEN
    finished = last["finished_at"] or (started[-1]["finished_at"] if started else None)
    completed = status == "COMPLETED"
    return show_node(
        path=node.path,
        type=last["type"] or node.type,
        name=node.name,
        status=status,
        outcome=last["outcome"] if completed else None,
        attempt=started[-1]["attempt"] if started else 0,
        attempts=[_attempt(row, node.rows, over=over) for row in started],
        started_at=milliseconds(started[0]["started_at"]) if started else None,
        finished_at=milliseconds(finished) if ended and started else None,
        input=values["input"] if values is not None else None,
        output=_output(values) if completed and values is not None else None,
        error=_error(last) if status in ("FAILED", "RETRYING") else None,
        skip_reason=last["skip_reason"] if status == "SKIPPED" else None,
    )


def _status(last: Row) -> str:
    """The node's own, from its last row."""
    settled: str | None = last["settled"]
    if settled is not None:
        return settled
    if last["status"] == "FAILED" and last["next_retry_at"] is not None:
        return "RETRYING"
    return str(last["status"])


def _attempt(row: Row, rows: Sequence[Row], *, over: bool) -> dict[str, Json]:
    # a wait's attempt runs for as long as it waits
    status = "RUNNING" if row["status"] == "WAITING" else row["status"]
    if over and status in OPEN:
        status = "CANCELED"
    next_retry_at = row["next_retry_at"]
    if row["settled"] is not None and row["status"] == "FAILED" and row is rows[-1]:
        next_retry_at = None  # its node ended before
    return show_attempt(
        row["attempt"],
        status,
        milliseconds(row["started_at"]),
        milliseconds(row["finished_at"]),
        _error(row),
        milliseconds(next_retry_at),
    )


def _error(row: Row) -> Json:
    if row["error_type"] is None:
        return None
    return {"type": row["error_type"], "message": row["error_message"]}


def _output(values: Row) -> Json:
    return values["output"] if values["blob"] is None else orjson.loads(values["blob"])


def milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)
