"""Two tenants on one installation. Whatever belongs to the first one carries a mark, so that it is seen wherever it leaks."""

# ruff: noqa: ANN401 - bodies are any JSON, and what is more is httpx's
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
from joserfc import jwk
from tests.api.harness import Api, Tenant, serving
from tests.engines.embedded.workers import Installation, Worker
from tests.tenancy.issuer import EC, Issuer, token, verifier

from riven.db.engine import Database
from riven.db.identity import new_id
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry
from riven.tenancy.authentication import Authenticator

MARK = "zebrafish"
FLOW = f"""
name: {MARK}-flow
description: {MARK}
input: {{type: object, required: [{MARK}], properties: {{{MARK}: {{type: string}}}}}}
nodes:
  tell: {{type: log, with: {{message: "{MARK} {{{{ input.{MARK} }}}}"}}}}
output: {{kept: "{{{{ input.{MARK} }}}}"}}
"""
ASKING = f"name: {MARK}-asking\nnodes: {{ask: {{type: approval, with: {{title: {MARK}}}}}}}\n"
FAILING = f"name: {MARK}-failing\nnodes: {{no: {{type: fail, with: {{message: {MARK}}}}}}}\n"
OWN = "name: own\nnodes: {ask: {type: approval, with: {title: mine}}}\n"
_TABLES = (
    *(
        "workspaces",
        "workspace_tiers",
        "members",
        "secrets",
        "activity",
        "outbox",
        "idempotency_keys",
        "blobs",
    ),
    *(
        "workflow_definitions",
        "workflow_definition_versions",
        "workflow_executions",
        "workflow_execution_nodes",
    ),
    *("workflow_execution_scopes", "execution_queue", "signals", "api_keys"),
)
_NOT_OF_TENANTS = frozenset({"processes", "locks", "alembic_version"})
_IDS = """
SELECT id::text FROM {table} WHERE workspace_id = $1
"""
ROLES = ("VIEWER", "OPERATOR", "EDITOR", "ADMIN")


@dataclass(slots=True)
class Held:
    """A tenant and one of each thing that it has, by the names that addresses have for them."""

    tenant: Tenant
    values: dict[str, str] = field(default_factory=dict)
    executions: dict[str, str] = field(default_factory=dict)
    definition: str = ""
    users: dict[str, str] = field(default_factory=dict)
    """Tokens of its members, by role."""

    @property
    def id(self) -> str:
        return str(self.tenant.id)

    def credentials(self) -> Mapping[str, tuple[str, str]]:
        """Of every kind: the role, and what is sent."""
        keys = {f"key {role}": (role, self.tenant.key(role)) for role in ROLES}
        return keys | {f"user {role}": (role, sent) for role, sent in self.users.items()}


@dataclass(slots=True)
class Scene:
    api: Api
    acme: Held
    other: Held
    ids: frozenset[str]
    """All that belong to acme."""

    async def ask(
        self,
        method: str,
        path: str,
        key: str | None,
        body: Any = None,
        content: str | None = None,
        **more: Any,
    ) -> httpx.Response:
        if body is not None:
            more["json"] = body
        if content is not None:
            more["content"] = content
        return await self.api.request(method, path, key=key, root=True, **more)

    def leaks(self, answer: httpx.Response) -> list[str]:
        """What is acme's in it, but for what was sent."""
        sent = str(answer.request.url) + answer.request.content.decode("utf-8", "replace")
        text = answer.text + "".join(f"{name}: {value}\n" for name, value in answer.headers.items())
        return [each for each in (MARK, *self.ids) if each in text and each not in sent]

    async def rows(self) -> dict[str, list[str]]:
        """Everything in the database but what processes say of themselves and when keys were last used."""
        await self.api.state.authenticator.settled()
        async with self.api.database.read() as connection:
            found = {
                table: [
                    row["line"]
                    for row in await connection.fetch(
                        f"SELECT (to_jsonb(t) - 'last_used_at')::text AS line FROM {table} t ORDER BY 1"
                    )
                ]
                for table in _TABLES
            }
            there = {
                row["name"]
                for row in await connection.fetch(
                    "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()"
                )
            }
        assert there - _NOT_OF_TENANTS == set(_TABLES), "a table that nobody compares"
        return found


@asynccontextmanager
async def scene(database_url: str) -> AsyncIterator[Scene]:
    """Nothing runs any more when it is set: whatever changes afterwards was changed by who asked."""
    database = Database(database_url, pool_size=3)
    authenticator = Authenticator(database, oidc=verifier(Issuer(EC)))
    functions = Functions()
    try:
        async with serving(database_url, functions=functions, authenticator=authenticator) as api:
            acme, other = Held(await api.workspace(f"{MARK} inc")), Held(await api.workspace("other"))
            worker = Worker(Installation(api.database, acme.tenant.id, Registry.discover(), functions))
            try:
                await _furnish_acme(api, acme)
            finally:
                await worker.stop()
            await _furnish_other(api, other)
            for held in (acme, other):
                await _join(api, held, EC)
            yield Scene(api, acme, other, await _ids(api, acme))
    finally:
        await database.close()


async def _furnish_acme(api: Api, acme: Held) -> None:
    for name, text in (("flow", FLOW), ("asking", ASKING), ("failing", FAILING)):
        saved = await publish(api, acme, f"{MARK}-{name}", text)
        if name == "flow":
            acme.definition = saved["workflowDefinitionId"]
    labels = {MARK: MARK}
    given = {"input": {MARK: MARK}, "labels": labels, "correlationId": MARK}
    later = "2100-01-01T00:00:00Z"
    started = {
        "done": await start(api, acme, f"{MARK}-flow", **given),
        "failed": await start(api, acme, f"{MARK}-failing", labels=labels),
        "asking": await start(api, acme, f"{MARK}-asking", labels=labels),
        "later": await start(api, acme, f"{MARK}-flow", scheduledFor=later, **given),
    }
    acme.executions = {name: each["executionId"] for name, each in started.items()}
    here = Installation(api.database, acme.tenant.id, Registry.discover(), Functions())
    for name, status in (("done", "COMPLETED"), ("failed", "FAILED"), ("asking", "WAITING")):
        await here.until(acme.executions[name], status)
    await api.post(f"/workflow/executions/{acme.executions['asking']}/signal/{MARK}", {MARK: MARK})
    await _hold(
        api, acme, f"{MARK}-flow", started["asking"]["executionId"], started["later"]["queueId"], MARK
    )


async def _furnish_other(api: Api, other: Held) -> None:
    other.definition = (await publish(api, other, "own", OWN))["workflowDefinitionId"]
    started = await start(api, other, "own")
    other.executions = {"own": started["executionId"]}
    await _hold(api, other, "own", started["executionId"], started["queueId"], "own")


async def _hold(api: Api, held: Held, workflow: str, execution: str, item: str, name: str) -> None:
    path = f"/workspaces/{held.id}"
    key = await api.post(f"{path}/keys", {"name": name, "role": "VIEWER"})
    member = await api.post(f"{path}/members", {"subject": f"{name}|somebody", "role": "VIEWER"})
    held.values = {
        "workspaceId": held.id,
        "name": workflow,
        "version": "1",
        "executionId": execution,
        "queueId": item,
        "keyId": key.json()["keyId"],
        "memberId": member.json()["memberId"],
        "path": "ask",
        "tier": "TEAM",
    }


async def _join(api: Api, held: Held, key: jwk.Key) -> None:
    """A member of each role."""
    for role in ROLES:
        subject = f"{held.id}|{role}"
        added = await api.post(f"/workspaces/{held.id}/members", {"subject": subject, "role": role})
        assert added.status_code == 201, added.text
        held.users[role] = token(key, "ES256", sub=subject)


async def publish(api: Api, held: Held, name: str, text: str) -> dict[str, Any]:
    path = f"/workspaces/{held.id}/workflows/{name}"
    saved = await api.put(path, key=held.tenant.editor, content=text)
    done = await api.post(f"{path}/publish", key=held.tenant.editor)
    assert done.status_code == 200, done.text
    return dict(saved.json())


async def start(api: Api, held: Held, workflow: str, **more: Any) -> dict[str, str]:
    body = {"workspaceId": held.id, "workflowName": workflow, **more}
    answer = await api.post("/workflow/executions/start", body, key=held.tenant.operator)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


async def _ids(api: Api, held: Held) -> frozenset[str]:
    found: set[str] = {held.id}
    owned = (
        "members",
        "activity",
        "workflow_definitions",
        "workflow_executions",
        "execution_queue",
        "api_keys",
    )
    async with api.database.read() as connection:
        for table in (*owned, "workflow_definition_versions"):
            rows = await connection.fetch(_IDS.format(table=table), UUID(held.id))
            assert rows, f"acme has nothing in {table}"
            found |= {row["id"] for row in rows}
    return frozenset(found)


def unknown(held: Held) -> dict[str, str]:
    """Values that name nothing at all."""
    named = {name: str(new_id()) for name in held.values if name.endswith("Id")}
    return {**held.values, **named, "name": "no-such-flow", "version": "99", "path": "nobody"}
