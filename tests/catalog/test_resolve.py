from tests.catalog.kit import Shop, noop, opened

from riven.catalog.errors import (
    ForeignWorkflowError,
    VersionNotFoundError,
    WorkflowNotFoundError,
    WorkflowNotPublishedError,
)
from riven.catalog.resolve import Asked, Resolved, WorkspaceDisabledError, resolve_versions
from riven.catalog.workflows import archive_workflow
from riven.db.identity import new_id
from riven.tenancy.errors import WorkspaceNotFoundError


async def resolve(shop: Shop, *asked: Asked) -> list:
    async with shop.database.read() as connection:
        return await resolve_versions(connection, asked)


async def test_many_are_resolved_at_once_each_for_itself(database_url: str) -> None:
    async with opened(database_url, tier="FREE") as shop:
        other = await shop.workspace()
        await shop.publish("a")
        await shop.publish("a", noop("a").replace("a:", "b:"))
        await shop.save("draft", noop("draft"))
        await other.publish("theirs")
        ids = {row["name"]: row["id"] for row in await shop.rows("SELECT name, id FROM workflow_definitions")}
        mine, gone = shop.workspace_id, new_id()
        found = await resolve(
            shop,
            Asked(mine, None, "a", None),
            Asked(mine, ids["a"], None, 1),
            Asked(mine, None, "a", 3),
            Asked(mine, None, "a", 2**40),
            Asked(mine, None, "draft", None),
            Asked(mine, None, "theirs", None),
            Asked(mine, ids["theirs"], None, None),
            Asked(mine, gone, None, None),
            Asked(mine, None, "no name\0", None),
            Asked(gone, None, "a", None),
            Asked(other.workspace_id, ids["theirs"], None, None),
        )
        assert [type(each) for each in found] == [
            Resolved,
            Resolved,
            VersionNotFoundError,
            VersionNotFoundError,
            WorkflowNotPublishedError,
            WorkflowNotFoundError,
            ForeignWorkflowError,
            WorkflowNotFoundError,
            WorkflowNotFoundError,
            WorkspaceNotFoundError,
            Resolved,
        ]
        assert (found[0].workflow_id, found[0].name, found[0].version) == (ids["a"], "a", 2)
        assert found[0].queued_limit == 100_000
        assert found[1].version == 1
        assert found[0].version_id != found[1].version_id
        assert found[-1].queued_limit is None


async def test_what_was_archived_cannot_be_started_by_name_nor_by_id(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        workflow_id = (await shop.save("a", noop("a"))).id
        await archive_workflow(shop.database, shop.scope, "a")
        found = await resolve(
            shop, Asked(shop.workspace_id, None, "a", None), Asked(shop.workspace_id, workflow_id, None, None)
        )
        assert [type(each) for each in found] == [WorkflowNotFoundError, WorkflowNotFoundError]


async def test_a_disabled_workspace_starts_nothing(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        await shop.execute("UPDATE workspaces SET disabled = true")
        assert [type(each) for each in await resolve(shop, Asked(shop.workspace_id, None, "a", None))] == [
            WorkspaceDisabledError
        ]
