"""Accept: turn wishes into executions that are durable and in line, many in one statement.

Two steps, so that a statement can be shared: `plan` reads what the wishes name and checks them, each for itself;
`write` inserts what came through. `accept_executions` does both in a transaction of the caller's.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias
from uuid import UUID

import orjson

from riven.catalog.resolve import Asked, Resolved, resolve_versions
from riven.core.errors import Problem
from riven.db.engine import Connection
from riven.db.errors import DatabaseError, DatabaseUnavailableError
from riven.db.identity import new_id
from riven.db.statements import load
from riven.documents.input import check_input
from riven.intake.errors import InvalidInputError, QueuedLimitError
from riven.intake.idempotency import Answered, IdempotencyKey, find_answered
from riven.intake.quotas import Quotas
from riven.intake.schemas import InputSchemas
from riven.intake.wish import Accepted, NewExecution, Wish, field_problems
from riven.tenancy.errors import InvalidRequestError, RefusedError
from riven.tenancy.policies import Scope
from riven.wire.document import Document, Json
from riven.wire.times import storable

_ACCEPT: Final = load("riven.intake", "accept")
_LARGE: Final = 32 * 1024
"""Bytes of a request whose input is checked in a thread."""
_MOST_PROBLEMS: Final = 1_000
_MOST_INPUT: Final = 4 << 20
_RETRY_AFTER: Final = 2.0
_LIMIT: Final = (
    "the workspace has its {:,} executions in line already; wait until some have started, or raise its limit"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One start, ready to be written."""

    scope: Scope
    new: NewExecution
    resolved: Resolved
    input: str
    accepted: Accepted


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A wish that is right; it is written as a whole or not at all."""

    rows: Sequence[Row]
    key: IdempotencyKey | None

    @property
    def answer(self) -> tuple[Accepted, ...]:
        return tuple(row.accepted for row in self.rows)

    @property
    def workspaces(self) -> set[UUID]:
        return {row.scope.workspace_id for row in self.rows}


Outcome: TypeAlias = Plan | tuple[Accepted, ...] | RefusedError
"""What is to be written, what was answered before, or why not."""


class Acceptor:
    """What is remembered from one accept to the next; one for each process that takes starts in."""

    def __init__(self) -> None:
        self._schemas = InputSchemas()
        self._quotas = Quotas()

    async def plan(self, connection: Connection, wishes: Sequence[Wish]) -> list[Outcome]:
        """For each wish, what becomes of it. Nothing is written."""
        keys = [wish.key for wish in wishes if wish.key is not None]
        answered = await find_answered(connection, keys)
        outcomes: dict[Wish, Outcome] = {}
        fresh: list[Wish] = []
        for wish in wishes:
            before = None if wish.key is None else answered.get(wish.key.name)
            if before is None or wish.key is None:
                fresh.append(wish)
            else:
                outcomes[wish] = repeat(before, wish.key)
        if fresh:
            outcomes |= await self._plan_fresh(connection, fresh)
        return [outcomes[wish] for wish in wishes]

    async def _plan_fresh(self, connection: Connection, wishes: Sequence[Wish]) -> dict[Wish, Outcome]:
        asked = {
            Asked(scope.workspace_id, new.workflow_id, new.workflow_name, new.version): None
            for wish in wishes
            for scope, new in wish.starts
        }
        resolved = dict(zip(asked, await resolve_versions(connection, list(asked)), strict=True))
        found = [each for each in resolved.values() if isinstance(each, Resolved)]
        schemas = await self._schemas.find(connection, {(each.version_id, each.name) for each in found})
        outcomes: dict[Wish, Outcome] = {}
        for wish in wishes:
            judge = _Judge(wish, resolved, schemas)
            outcomes[wish] = await asyncio.to_thread(judge) if wish.size > _LARGE else judge()
        await self._count(connection, outcomes)
        return outcomes

    async def _count(self, connection: Connection, outcomes: dict[Wish, Outcome]) -> None:
        """Refuse what would not find room in line."""
        plans = [(wish, plan, _rooms(plan)) for wish, plan in outcomes.items() if isinstance(plan, Plan)]
        wanted: dict[UUID, tuple[int, int]] = {}
        for _, _, rooms in plans:
            for workspace, (count, limit) in rooms.items():
                wanted[workspace] = (wanted.get(workspace, (0, 0))[0] + count, limit)
        if not wanted:
            return
        await self._quotas.refresh(connection, wanted)
        for wish, _, rooms in plans:
            for workspace, (count, limit) in rooms.items():
                if not self._quotas.admit(workspace, count, limit):
                    outcomes[wish] = QueuedLimitError(_LIMIT.format(limit), retry_after=_RETRY_AFTER)
                    break


async def write(connection: Connection, plans: Sequence[Plan], *, alone: bool) -> list[bool]:
    """Insert them in one statement. False for one whose key is there already, or is being written by somebody else.

    `alone`: a request by itself, which waits for whoever writes its key.
    """
    keyed = [(number, plan.key) for number, plan in enumerate(plans) if plan.key is not None]
    keys = [key for _, key in keyed]
    numbers = {number for number, _ in keyed}
    rows = [
        (row, number if number in numbers else None) for number, plan in enumerate(plans) for row in plan.rows
    ]
    written = await connection.fetch(
        _ACCEPT,
        [key.workspace_id for key in keys],
        [key.key for key in keys],
        [key.request_hash for key in keys],
        [_response(plans[number].answer) for number in (number for number, _ in keyed)],
        [number for number, _ in keyed],
        not alone,
        *_columns(rows),
    )
    there = {record["execution_id"] for record in written}
    return [plan.rows[0].accepted.execution_id in there for plan in plans]


async def accept_executions(
    connection: Connection,
    scope: Scope,
    starts: Sequence[NewExecution],
    *,
    key: IdempotencyKey | None = None,
    batch: bool = False,
    acceptor: Acceptor | None = None,
) -> tuple[Accepted, ...]:
    """All of them, in order, in the caller's transaction, which stays usable when they are refused.

    After the commit, tell `wake.Announcer` of the workspace.

    Raises:
        RefusedError, ConstraintError, StatementError: nothing was written.
    """
    wish = Wish(starts=[(scope, new) for new in starts], key=key, batch=batch)
    planner = acceptor or Acceptor()
    while True:
        (outcome,) = await planner.plan(connection, [wish])
        if isinstance(outcome, RefusedError):
            raise outcome
        if isinstance(outcome, tuple):
            return outcome
        async with _undone_alone(connection):
            if all(await write(connection, [outcome], alone=True)):
                return outcome.answer
        # Another transaction has written the key, and has committed: its answer is found now.


async def accept_execution(
    connection: Connection,
    scope: Scope,
    new: NewExecution,
    *,
    key: IdempotencyKey | None = None,
    acceptor: Acceptor | None = None,
) -> Accepted:
    """One, as `accept_executions`."""
    (accepted,) = await accept_executions(connection, scope, [new], key=key, acceptor=acceptor)
    return accepted


@asynccontextmanager
async def _undone_alone(connection: Connection) -> AsyncIterator[None]:
    """By statements: the caller may have begun his transaction by one."""
    await connection.execute("SAVEPOINT riven_accept")
    try:
        yield
    except DatabaseUnavailableError:
        raise
    except DatabaseError:
        await connection.execute("ROLLBACK TO SAVEPOINT riven_accept")
        raise
    await connection.execute("RELEASE SAVEPOINT riven_accept")


def repeat(before: Answered, key: IdempotencyKey) -> tuple[Accepted, ...] | RefusedError:
    """The first answer again, or why it is none to this request."""
    try:
        before.check(key)
    except RefusedError as error:
        return error
    return tuple(
        Accepted(UUID(execution), UUID(queue), repeated=True) for execution, queue in before.response
    )


def _response(answer: Iterable[Accepted]) -> str:
    return orjson.dumps([(str(each.execution_id), str(each.queue_id)) for each in answer]).decode()


def _rooms(plan: Plan) -> dict[UUID, tuple[int, int]]:
    """How many it puts in line in each workspace that has a limit, and the limit."""
    rooms: dict[UUID, tuple[int, int]] = {}
    for row in plan.rows:
        workspace, limit = row.scope.workspace_id, row.resolved.queued_limit
        if limit is not None:
            rooms[workspace] = (rooms.get(workspace, (0, 0))[0] + 1, limit)
    return rooms


# ---- one wish ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Judge:
    """All that is wrong with a wish, told at once; what is no matter of its fields, by the first start that has it."""

    wish: Wish
    resolved: dict[Asked, Resolved | RefusedError]
    schemas: dict[UUID, Document]

    def __call__(self) -> Outcome:
        rows: list[tuple[Scope, NewExecution, Resolved, str]] = []
        refusals: list[RefusedError] = []
        found = 0
        for index, (scope, new) in enumerate(self.wish.starts):
            try:
                rows.append(self._row(scope, new))
            except RefusedError as error:
                refusals.append(_placed(error, self.wish.prefix(index)))
                found += len(error.problems)
                if found >= _MOST_PROBLEMS:
                    break
        if refusals:
            return _joined(refusals)
        # Ids grow: what was asked for first is first in line and in lists.
        return Plan([Row(*row, Accepted(new_id(), new_id())) for row in rows], self.wish.key)

    def _row(self, scope: Scope, new: NewExecution) -> tuple[Scope, NewExecution, Resolved, str]:
        if problems := tuple(field_problems(new)):
            raise InvalidRequestError(_summary("the start", problems), problems=problems)
        resolved = self.resolved[Asked(scope.workspace_id, new.workflow_id, new.workflow_name, new.version)]
        if isinstance(resolved, RefusedError):
            # A new one: the same refusal may stand for other wishes, and carries where it was raised.
            raise type(resolved)(resolved.message)
        document = self.schemas.get(resolved.version_id) or Document(name=resolved.name)
        value, problems = check_input(document, new.input)
        if problems:
            raise InvalidInputError(_summary("the input", problems), problems=problems)
        text = orjson.dumps(value)
        if len(text) > _MOST_INPUT:
            said = f"with its defaults the input has more than {_MOST_INPUT >> 20} MiB"
            problem = Problem(path="input", code="too_large", message=said)
            raise InvalidInputError(said, problems=[problem])
        return scope, new, resolved, text.decode()


def _summary(what: str, problems: Sequence[Problem]) -> str:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{what} is not valid: {problems[0].path}: {problems[0].message}{more}"


def _placed(error: RefusedError, prefix: str) -> RefusedError:
    """With paths that say which start of a batch it is about."""
    if not prefix:
        return error
    problems = [replace(problem, path=prefix + problem.path) for problem in error.problems] or [
        Problem(path=prefix.removesuffix("."), code=error.code, message=error.message)
    ]
    return type(error)(f"{prefix.removesuffix('.')}: {error.message}", problems=problems)


def _joined(refusals: Sequence[RefusedError]) -> RefusedError:
    """Of the kind of the first one, with the problems of all of them."""
    first = refusals[0]
    if len(refusals) == 1:
        return first
    problems = [problem for error in refusals for problem in error.problems][:_MOST_PROBLEMS]
    return type(first)(
        f"{first.message} (and {len(refusals) - 1} more starts are refused)", problems=problems
    )


# ---- columns ----------------------------------------------------------------------------------------------------------


def _columns(rows: Sequence[tuple[Row, int | None]]) -> Iterable[list[Any]]:
    """In the order of sql/accept.sql."""
    return map(list, zip(*(_values(row, number) for row, number in rows), strict=True))


def _values(row: Row, number: int | None) -> tuple[Any, ...]:
    new, resolved, accepted = row.new, row.resolved, row.accepted
    return (
        accepted.execution_id,
        accepted.queue_id,
        row.scope.workspace_id,
        resolved.workflow_id,
        resolved.version_id,
        resolved.name,
        resolved.version,
        new.priority,
        _text(dict(new.labels)) if new.labels else "{}",
        new.correlation_id,
        None if new.scheduled_for is None else storable(new.scheduled_for),
        row.input,
        None if new.trigger is None else _text(new.trigger),
        new.rerun_of,
        new.rerun_from,
        row.scope.principal.actor,
        number,
        new_id(),
        _text(_details(row)),
    )


def _details(row: Row) -> dict[str, Json]:
    about: dict[str, Json] = {"workflow": row.resolved.name, "version": row.resolved.version}
    return about if row.new.rerun_of is None else {**about, "rerunOf": str(row.new.rerun_of)}


def _text(value: Json) -> str:
    return orjson.dumps(value).decode()
