"""Follow a run: a snapshot of it, then every change, each with a number that grows.

The numbers are the revisions of the rows, so they hold in every process and after every restart: who comes back with the
last one that he saw is told what came later, and nothing twice.

Nothing is sent that is not in the rows. Who follows a run says so on a channel; whoever then writes its rows says that
they have changed; and the rows are read again. A word that gets lost only costs time, since the rows are also read from
time to time without one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from riven.db.channels import CHANGES, WATCH, notify_of, read_ids
from riven.db.engine import Connection, Database
from riven.db.errors import DatabaseError
from riven.db.listen import Listener
from riven.tenancy.policies import Scope
from riven.views.documents import Documents
from riven.views.executions import ExecutionView, get_execution
from riven.views.nodes import After, changed_nodes, list_nodes
from riven.wire.document import Json

KEEP_ALIVE: Final = 15.0
POLL: Final = 5.0
"""Seconds after which the rows are read again without a word."""
_FIRST_POLL: Final = 0.25
"""The first time, because those who write may not have heard yet that somebody follows."""
_ANNOUNCE: Final = 10.0
_AWAY: Final = 1.0
_SHARE: Final = 0.1
"""Of the time, at most, that one follower reads, but for a moment now and then."""
_CREDIT: Final = 0.5
"""Seconds of the time that the share is of: so much reading may come at once, as a short run does."""
SNAPSHOT_NODES: Final = 10_000
_PAGE: Final = 1_000
_CHANGED_AT_ONCE: Final = 500
_ONE_MOMENT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LATEST: Final = "SELECT max(revision) FROM workflow_execution_nodes WHERE execution_id = $1"

_log = logging.getLogger("riven.views")


@dataclass(frozen=True, slots=True)
class Event:
    id: int
    name: Literal["snapshot", "node", "execution"]
    data: dict[str, Json]
    after: After | None = None
    """Of a snapshot that has not room for all nodes: the last one in it."""


class EventHub:
    """One for each process that shows runs."""

    def __init__(self, database: Database, documents: Documents) -> None:
        self._database = database
        self._documents = documents
        self._followers: dict[UUID, list[asyncio.Event]] = {}
        self._listener = Listener(
            database, {CHANGES: self._changed, WATCH: self._asked}, connected=self._everything
        )
        self._announcing: asyncio.Task[None] | None = None
        self._say = asyncio.Event()
        self._closing = False

    @property
    def following(self) -> int:
        return sum(len(each) for each in self._followers.values())

    async def close(self) -> None:
        """Streams end soon."""
        self._closing = True
        self._everything()
        task, self._announcing = self._announcing, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._listener.stop()

    async def follow(
        self, scope: Scope, execution_id: UUID, last: int | None
    ) -> "AsyncIterator[Event | None]":
        """Events, and None where nothing has happened for a while; ends with the execution.

        `last`: the number of the last event that was seen; only what came later is told. Without it, or if it is none of
        ours, a snapshot comes first. Raises ExecutionNotFoundError.
        """
        loop = asyncio.get_running_loop()
        async with self._following(execution_id) as changed:
            follower = _Follower(self._database, self._documents, scope, execution_id, last)
            events = await follower.begin()
            patience, quiet_since = _FIRST_POLL, loop.time()
            pace = Pace(loop.time())
            while True:
                for event in events:
                    yield event
                if events:
                    quiet_since = loop.time()
                if follower.over or self._closing:
                    return
                quiet_until = quiet_since + KEEP_ALIVE
                if await _happens(changed, min(patience, quiet_until - loop.time())):
                    changed.clear()
                else:
                    patience = min(patience * 4, POLL)
                if loop.time() >= quiet_until:
                    quiet_since = loop.time()
                    yield None
                await asyncio.sleep(pace.pause(loop.time()))
                began = loop.time()
                events = await self._read(follower)
                pace.spend(began, loop.time())

    async def _read(self, follower: "_Follower") -> Sequence[Event]:
        try:
            return await follower.read()
        except DatabaseError as error:
            _log.info("events_unread", extra={"error": str(error)})
            await asyncio.sleep(_AWAY)
            return ()

    # ---- who follows what --------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _following(self, execution_id: UUID) -> AsyncIterator[asyncio.Event]:
        changed = asyncio.Event()
        first = execution_id not in self._followers
        self._followers.setdefault(execution_id, []).append(changed)
        self._start()
        try:
            if first:
                await self._announce([execution_id])
            yield changed
        finally:
            left = self._followers[execution_id]
            left.remove(changed)
            if not left:
                del self._followers[execution_id]

    def _start(self) -> None:
        """Nobody listens, and nobody is told anything, before somebody follows a run."""
        if self._announcing is None and not self._closing:
            self._listener.start()
            self._announcing = asyncio.get_running_loop().create_task(
                self._keep_announcing(), name="riven-follow"
            )

    async def _keep_announcing(self) -> None:
        while True:
            await _happens(self._say, _ANNOUNCE)
            self._say.clear()
            await self._announce(list(self._followers))

    async def _announce(self, executions: Sequence[UUID]) -> None:
        if executions:
            try:
                await notify_of(self._database, WATCH, executions)
            except DatabaseError as error:
                _log.info("watch_unannounced", extra={"error": str(error)})

    def _changed(self, payload: str) -> None:
        for execution_id in read_ids(payload):
            for changed in self._followers.get(execution_id, ()):
                changed.set()

    def _asked(self, payload: str) -> None:
        if payload == "?":
            self._say.set()

    def _everything(self) -> None:
        """Whatever was said while nobody listened."""
        self._say.set()
        for changes in self._followers.values():
            for changed in changes:
                changed.set()


class Pace:
    """How soon one follower may read again. Times in seconds, of one clock."""

    def __init__(self, now: float) -> None:
        self._paid_until = now

    def spend(self, began: float, ended: float) -> None:
        self._paid_until = max(self._paid_until, began) + (ended - began) / _SHARE

    def pause(self, now: float) -> float:
        return min(max(0.0, self._paid_until - _CREDIT - now), _AWAY)


class _Follower:
    """What one stream has told, and what it has to tell next."""

    def __init__(
        self,
        database: Database,
        documents: Documents,
        scope: Scope,
        execution_id: UUID,
        last: int | None,
    ) -> None:
        self._database = database
        self._documents = documents
        self._scope = scope
        self._execution_id = execution_id
        self._last = last
        self._unfinished = False
        """It was seen before its end."""
        self.over = False
        """The end of the execution was told, or needs no telling."""

    async def begin(self) -> Sequence[Event]:
        async with self._moment() as connection:
            view = await get_execution(connection, self._scope, self._execution_id)
            latest = max(view.revision, await connection.fetch_value(_LATEST, self._execution_id) or 0)
            if self._last is None or self._last > latest or self._last < 0:
                return [await self._snapshot(connection, view, latest)]
            return await self._changes(connection, view)

    async def read(self) -> Sequence[Event]:
        async with self._moment() as connection:
            view = await get_execution(connection, self._scope, self._execution_id)
            return await self._changes(connection, view)

    @asynccontextmanager
    async def _moment(self) -> AsyncIterator[Connection]:
        """All that is read is of one moment: a number that was told has everything before it."""
        async with self._database.transaction() as connection:
            await connection.execute(_ONE_MOMENT)
            yield connection

    async def _snapshot(self, connection: Connection, view: ExecutionView, latest: int) -> Event:
        document = await self._documents.get(connection, view.version_id)
        nodes: list[dict[str, Json]] = []
        after: After | None = None
        while True:
            page = await list_nodes(connection, view.id, view.status, document, after=after, limit=_PAGE)
            nodes += page.items
            after = page.after
            if after is None or len(page.items) < _PAGE or len(nodes) >= SNAPSHOT_NODES:
                break
        self._last = latest
        self._saw(view)
        return Event(latest, "snapshot", view.shown | {"nodes": nodes}, after)

    async def _changes(self, connection: Connection, view: ExecutionView) -> Sequence[Event]:
        last = self._last or 0
        events: list[Event] = []
        document = await self._documents.get(connection, view.version_id)
        nodes = await changed_nodes(
            connection, view.id, view.status, document, since=last, limit=_CHANGED_AT_ONCE
        )
        whole = not nodes or not await self._more(connection, nodes[-1].revision)
        untold = view.revision > last
        for node in nodes:
            if untold and view.revision < node.revision:
                events.append(Event(view.revision, "execution", view.shown))
                untold = False
            events.append(Event(node.revision, "node", node.shown))
        if whole and untold:
            events.append(Event(view.revision, "execution", view.shown))
        if events:
            self._last = events[-1].id
        if whole:
            if view.finished and self._unfinished and not untold and not _tells(events, view):
                # Its end was written by somebody who did not know how far a dead owner had come.
                self._last = last + len(events) + 1
                events.append(Event(self._last, "execution", view.shown))
            self._saw(view)
        return events

    async def _more(self, connection: Connection, revision: int) -> bool:
        latest = await connection.fetch_value(_LATEST, self._execution_id)
        return latest is not None and latest > revision

    def _saw(self, view: ExecutionView) -> None:
        self.over = view.finished
        self._unfinished = self._unfinished or not view.finished


def _tells(events: Sequence[Event], view: ExecutionView) -> bool:
    return any(event.name == "execution" and event.data is view.shown for event in events)


async def _happens(event: asyncio.Event, within: float) -> bool:
    # not by `wait_for`, which swallows a cancellation that comes together with the event
    try:
        async with asyncio.timeout(max(0.0, within)):
            await event.wait()
    except TimeoutError:
        return False
    return True
