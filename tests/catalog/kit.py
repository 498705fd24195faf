"""A workspace, and what is published in it, made by the functions that are under test elsewhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from riven.catalog.check import DocumentChecker
from riven.catalog.repository import Workflow
from riven.catalog.versions import Publication, publish_workflow
from riven.catalog.workflows import save_draft
from riven.db.engine import Database
from riven.db.identity import new_id
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Principal, Role

_WORKSPACE = "INSERT INTO workspaces (id, name, tier, queued_limit) VALUES ($1, $2, $3, $4)"


def noop(name: str) -> str:
    return f"name: {name}\nnodes:\n  a: {{type: noop}}\n"


@dataclass(slots=True)
class Shop:
    database: Database
    checker: DocumentChecker
    scope: Scope

    @property
    def workspace_id(self) -> UUID:
        return self.scope.workspace_id

    async def save(self, name: str, text: str | bytes) -> Workflow:
        data = text.encode() if isinstance(text, str) else text
        return await save_draft(self.database, self.scope, self.checker, name, data)

    async def publish(self, name: str, text: str | bytes | None = None) -> Publication:
        await self.save(name, noop(name) if text is None else text)
        return await publish_workflow(self.database, self.scope, self.checker, name)

    async def workspace(
        self, name: str = "other", tier: str = "ENTERPRISE", queued: int | None = None
    ) -> "Shop":
        """Another one, on the same database."""
        workspace_id = new_id()
        async with self.database.transaction() as connection:
            await connection.execute(_WORKSPACE, workspace_id, name, tier, queued)
        return Shop(self.database, self.checker, scope_of(workspace_id))

    async def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        async with self.database.read() as connection:
            return [dict(row) for row in await connection.fetch(statement, *values)]

    async def value(self, statement: str, *values: object) -> Any:  # noqa: ANN401
        async with self.database.read() as connection:
            return await connection.fetch_value(statement, *values)

    async def execute(self, statement: str, *values: object) -> int:
        async with self.database.transaction() as connection:
            return await connection.execute(statement, *values)

    async def counts(self) -> tuple[int, int, int, int]:
        """Executions, items, audit rows of starts, keys."""
        return (
            await self.value("SELECT count(*) FROM workflow_executions"),
            await self.value("SELECT count(*) FROM execution_queue"),
            await self.value("SELECT count(*) FROM activity WHERE action = 'execution.started'"),
            await self.value("SELECT count(*) FROM idempotency_keys"),
        )


def scope_of(workspace_id: UUID) -> Scope:
    principal = Principal(kind="key", id="k", name="k", workspace_id=workspace_id, role=Role.EDITOR)
    return Scope(workspace_id, principal)


@asynccontextmanager
async def opened(
    database_url: str, *, queued: int | None = None, tier: str = "ENTERPRISE"
) -> AsyncIterator[Shop]:
    database = Database(database_url, pool_size=10)
    checker = DocumentChecker(database, Registry.discover(), Functions().names)
    try:
        yield await Shop(database, checker, scope_of(new_id())).workspace("acme", tier, queued)
    finally:
        checker.close()
        await database.close()
