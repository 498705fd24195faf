"""An execution on a server, shown as it goes on, on the same screens as a run in memory."""

import asyncio
import contextlib
from typing import cast

from riven.cli.app import FAILED, CommandError, loaders
from riven.cli.clock import SystemClock
from riven.cli.ending import Ending
from riven.cli.interrupts import Interrupts
from riven.cli.lettering import printable
from riven.cli.output import coloured, draws_pictures
from riven.cli.progress import Progress, Row
from riven.cli.questions import Answer, Approval, ApprovalQuestion, Question, SignalQuestion, SignalSent
from riven.cli.screen import OpenScreen, PlainScreen, QuietScreen, Screen
from riven.cli.server import Server, refusal_words, talk
from riven.cli.waiting import waiting_words
from riven.client.errors import ClientError, RefusedError
from riven.client.http import Client
from riven.core.errors import InvalidDocumentError
from riven.core.graph import Graph, Node
from riven.core.ids import NodeKey, NodePath
from riven.core.messages import NodeStatus, SkipReason
from riven.documents.load import load_document
from riven.engines.embedded.journal import Awaited, ExecutionChange
from riven.nodes.registry import Registry
from riven.wire.document import Json
from riven.wire.times import from_rfc3339

_PATIENCE = 2.0
"""Seconds that an execution may stand in line before it is said why."""
_LOOK_AGAIN = 5.0
_MOST_HINTS = 20


class DetachedError(Exception):
    """Ctrl-C: the execution goes on without us."""


def follow(server: Server, execution_id: str, *, as_json: bool) -> dict[str, Json]:
    """Show it to its end; its object, with its nodes.

    Raises:
        CommandError: the server refuses or is away, or somebody stopped watching.
    """
    following = _Following(execution_id, quiet=as_json)
    try:
        with Interrupts(following.detach, following.abandon, FAILED) as interrupts:
            return talk(server, lambda client: following.run(client, interrupts))
    except DetachedError:
        said = f"the execution goes on; see it again with 'riven executions watch {execution_id}'"
        raise CommandError(said, FAILED) from None


class _Following:
    def __init__(self, execution_id: str, *, quiet: bool) -> None:
        self._id = execution_id
        self._quiet = quiet
        self._clock = SystemClock()
        self._status = "PENDING"
        self._screen: Screen = QuietScreen()
        self._progress = Progress(Graph())
        self._asked: dict[NodePath, Question] = {}
        self._hints = 0
        self._client: Client | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._work: asyncio.Task[dict[str, Json]] | None = None
        self._failure: Exception | None = None

    async def run(self, client: Client, interrupts: Interrupts) -> dict[str, Json]:
        self._client = client
        self._work = asyncio.ensure_future(self._follow(client))
        explaining = asyncio.ensure_future(self._explain(client))
        interrupts.attach(asyncio.get_running_loop())
        try:
            return await self._work
        except asyncio.CancelledError:
            raise self._failure or DetachedError() from None
        finally:
            self._screen.close()
            tasks = [explaining, *self._answering]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def detach(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def abandon(self) -> None:
        self._screen.abandon()

    def fail(self, error: Exception) -> None:
        """It can no longer be shown."""
        self._failure = error
        self.detach()

    # ---- what the server tells -------------------------------------------------------------------------------------

    async def _follow(self, client: Client) -> dict[str, Json]:
        opened = False
        async for event in client.events(self._id):
            match event.kind:
                case "snapshot":
                    if not opened:
                        await self._open(client, event.data)
                        opened = True
                    self._status = event.data["status"]
                    for node in event.data.get("nodes", ()):
                        self._node(node)
                case "node":
                    self._node(event.data)
                case "execution":
                    self._status = event.data["status"]
                case _:
                    pass  # what later versions may tell
        result = {**await client.execution(self._id), "nodes": await client.nodes(self._id)}
        self._screen.ended(Ending({**result, "durationMs": result.get("durationMs") or 0}))
        return result

    async def _open(self, client: Client, execution: dict[str, Json]) -> None:
        if self._quiet:
            return
        graph = await _graph(client, execution)
        self._progress = Progress(graph)
        name = str(execution["workflow"]["name"])
        if draws_pictures():
            live = cast("OpenScreen", loaders().live())
            self._screen = live(
                name, self._progress, self._clock, self._answer, self.fail, coloured=coloured()
            )
        else:
            self._screen = PlainScreen(graph, self._clock, self.fail)
        self._screen.start()

    def _node(self, node: dict[str, Json]) -> None:
        change = change_of(node, self._clock.now())
        known = self._progress.rows.get(change.path)
        if known is not None and _same(known, change):
            return
        row = self._progress.apply(change)
        if row is None:
            return
        if change.started_at is not None and row.started is None:
            row.started = change.started_at
        if change.path in self._asked and row.status is not NodeStatus.WAITING:
            del self._asked[change.path]
            self._screen.withdraw(change.path)
        self._screen.changed(row)
        if change.waiting is not None and change.path not in self._asked:
            self._awaits(change.path, change.waiting)

    async def _explain(self, client: Client) -> None:
        """Say why it stands in line, when it does so for a while."""
        said = ""
        await asyncio.sleep(_PATIENCE)
        while True:
            if self._status == "PENDING":
                waiting = None
                with contextlib.suppress(ClientError):
                    waiting = await client.waiting(self._id)
                if waiting is not None and (words := waiting_words(waiting)) != said:
                    said = words
                    self._screen.notice(words)
            await asyncio.sleep(_LOOK_AGAIN)

    # ---- what it asks -----------------------------------------------------------------------------------------------

    def _awaits(self, path: NodePath, awaited: Awaited) -> None:
        config = awaited.config or {}
        match awaited.kind:
            case "signal":
                question: Question = SignalQuestion(path, awaited.name or "")
                way = f"signal {self._id} {awaited.name or 'NAME'} '{{}}'"
            case "approval":
                description = config.get("description")
                about = None if description is None else str(description)
                form = config.get("form") is not None
                question = ApprovalQuestion(path, str(config.get("title") or "Approval"), about, form=form)
                way = f"approve {self._id} {path} approved"
            case _:
                return
        self._asked[path] = question
        if not self._screen.ask(question):
            self._hints += 1
            if self._hints <= _MOST_HINTS:
                what = "a decision" if awaited.kind == "approval" else "a signal"
                self._screen.notice(f"{printable(path)} waits for {what}: riven executions {printable(way)}")

    def _answer(self, answer: Answer) -> str | None:
        """Of a person at the terminal. What the server says to it comes later."""
        task = asyncio.ensure_future(self._send(answer))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return None

    async def _send(self, answer: Answer) -> None:
        assert self._client is not None  # noqa: S101 - it was there before anything could be asked
        try:
            match answer:
                case SignalSent(name, payload):
                    await self._client.signal(self._id, name, payload)
                case Approval(path, decision, comment, data):
                    await self._client.approve(self._id, path, decision, comment=comment, data=data)
        except RefusedError as refused:
            self._screen.notice(refusal_words(refused))
            self._ask_again(answer)
        except ClientError as error:
            self._screen.notice(printable(str(error)))
            self._ask_again(answer)

    def _ask_again(self, answer: Answer) -> None:
        for path, question in self._asked.items():
            asked_for = question.name if isinstance(question, SignalQuestion) else path
            if asked_for == (answer.name if isinstance(answer, SignalSent) else answer.path):
                self._screen.ask(question)


def change_of(node: dict[str, Json], now: int) -> ExecutionChange:
    """The API's node as a change of it."""
    status = NodeStatus(node["status"])
    started = _time(node.get("startedAt"))
    attempts = node.get("attempts") or ()
    retry = _time(attempts[-1].get("nextRetryAt")) if attempts else None
    reason = node.get("skipReason")
    return ExecutionChange(
        path=NodePath(node["path"]),
        status=status,
        at=_time(node.get("finishedAt")) or (started if status is NodeStatus.RUNNING and started else now),
        type=node.get("type"),
        name=node.get("name"),
        outcome=node.get("outcome"),
        attempt=node.get("attempt") or 0,
        error=_last_error(node, attempts),
        skip_reason=None if reason is None else SkipReason(reason),
        started_at=started,
        next_retry_at=retry if status is NodeStatus.RETRYING else None,
        waiting=_awaited(node) if status is NodeStatus.WAITING else None,
    )


def _last_error(node: dict[str, Json], attempts: Json) -> Json:
    if node.get("error") is not None or not attempts or node["status"] != NodeStatus.RETRYING:
        return node.get("error")
    return attempts[-1].get("error")


def _awaited(node: dict[str, Json]) -> Awaited:
    config = node.get("input")
    kind = {"wait": "timer", "approval": "approval"}.get(str(node.get("type")), "signal")
    name = config.get("name") if isinstance(config, dict) else None
    return Awaited(kind=kind, name=name, config=config if isinstance(config, dict) else None)


def _time(text: Json) -> int | None:
    return None if text is None else from_rfc3339(text)


def _same(row: Row, change: ExecutionChange) -> bool:
    last = row.last
    if last is None:
        return change.status is NodeStatus.PENDING
    return (last.status, last.attempt, last.outcome) == (change.status, change.attempt, change.outcome)


async def _graph(client: Client, execution: dict[str, Json]) -> Graph:
    """Of the version that runs; where it cannot be had, one that has its outermost nodes."""
    workflow = execution["workflow"]
    texts: dict[str, str] = {}

    async def fetch(name: str, version: int) -> None:
        if name in texts:
            return
        found = await client.version(execution["workspaceId"], name, version)
        texts[name] = found["source"]
        for called in found["calls"]:
            await fetch(called["workflow"], called["version"])

    with contextlib.suppress(ClientError, InvalidDocumentError, KeyError, TypeError):
        await fetch(workflow["name"], workflow["version"])
        source = texts[workflow["name"]]
        graph = load_document(
            source, registry=Registry.discover(), calls=lambda name, _: texts.get(name)
        ).graph
        if graph is not None:
            return graph
    return Graph(
        tuple(
            Node(key=NodeKey(node["path"]), type=str(node["type"]))
            for node in execution.get("nodes", ())
            if not set(".[") & set(node["path"])
        )
    )
