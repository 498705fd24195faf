import asyncio

import orjson
import pytest
from tests.catalog.kit import Shop, noop, opened

from riven.catalog.errors import VersionNotFoundError, WorkflowInvalidError, WorkflowNotFoundError
from riven.catalog.versions import (
    Publication,
    get_version,
    list_versions,
    load_document,
    load_input_schemas,
    publish_workflow,
)
from riven.catalog.workflows import archive_workflow
from riven.db.identity import new_id
from riven.documents.normalise import build_graph
from riven.nodes.registry import Registry

CALLS_B = "name: a\nnodes:\n  x: {type: call, with: {workflow: b}}\n"


async def version_ids(shop: Shop) -> list:
    return [
        row["id"]
        for row in await shop.rows("SELECT id FROM workflow_definition_versions ORDER BY created_at, id")
    ]


async def test_publishing_makes_a_version_once(database_url: str) -> None:
    async with opened(database_url) as shop:
        assert await shop.publish("a") == Publication(1, published=True)
        assert await shop.publish("a") == Publication(1, published=False)
        workflow = await shop.save("a", noop("a"))
        assert (workflow.status, workflow.latest_version) == ("PUBLISHED", 1)
        assert await shop.publish("a", noop("a").replace("a:", "b:")) == Publication(2, published=True)
        assert await shop.publish("a") == Publication(3, published=True)  # as it was, but not as it is


async def test_comments_and_the_order_of_blanks_are_no_change(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        text = '{"nodes": {"a": {"type": "noop"}}, "name": "a"}'
        assert await shop.publish("a", text) == Publication(1, published=False)
        assert await shop.publish("a", f"# why\n{noop('a')}") == Publication(1, published=False)
        assert (await shop.rows("SELECT source FROM workflow_definition_versions"))[0]["source"] == noop("a")


async def test_true_is_not_one(database_url: str) -> None:
    async with opened(database_url) as shop:
        for number, value in enumerate(("1", "true", "1.0"), start=1):
            text = f"name: a\nvars: {{x: {value}}}\nnodes: {{}}\n"
            assert await shop.publish("a", text) == Publication(number, published=True)


async def test_an_invalid_draft_becomes_no_version_and_all_is_told(database_url: str) -> None:
    async with opened(database_url) as shop:
        with pytest.raises(WorkflowInvalidError) as refused:
            await shop.publish("a", "name: b\nnodes:\n  x: {type: lag, needs: [y]}\n")
        assert [(each.path, each.code) for each in refused.value.problems] == [
            ("nodes.x.type", "unknown_type"),
            ("nodes.x.needs[0]", "unknown_node"),
        ]
        assert await version_ids(shop) == []
        with pytest.raises(WorkflowNotFoundError):
            await publish_workflow(shop.database, shop.scope, shop.checker, "none")


async def test_a_version_is_what_the_engine_runs(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("b", "name: b\nnodes:\n  inner: {type: noop}\n")
        await shop.publish("a", CALLS_B)
        (_, version_id) = await version_ids(shop)
        async with shop.database.read() as connection:
            document = await load_document(connection, version_id)
            assert await load_document(connection, new_id()) is None
        assert document is not None
        graph = build_graph(document, Registry.discover())
        assert graph.nodes[0].body is not None
        assert [node.key for node in graph.nodes[0].body.nodes] == ["inner"]


async def test_a_called_workflow_that_is_published_anew_changes_no_version(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("b")
        await shop.publish("a", CALLS_B)
        await shop.publish("b", "name: b\nnodes:\n  newer: {type: noop}\n")
        (_, first, _) = await version_ids(shop)
        async with shop.database.read() as connection:
            document = await load_document(connection, first)
        assert document is not None
        assert list(document.calls) == ["b@1"]
        assert list(document.calls["b@1"].nodes) == ["a"]
        # Publishing the caller again is what takes the new one in.
        assert await shop.publish("a", CALLS_B) == Publication(2, published=True)
        async with shop.database.read() as connection:
            second = await get_version(connection, shop.scope, "a", 2)
        assert second.calls == [("b", 2)]


async def test_versions_are_kept_under_the_name_of_their_address(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("mine", noop("other"))
        (version_id,) = await version_ids(shop)
        async with shop.database.read() as connection:
            document = await load_document(connection, version_id)
        assert document is not None
        assert document.name == "mine"


async def test_versions_are_listed_and_got_also_of_what_was_archived(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        await shop.publish("a", noop("a").replace("a:", "b:"))
        await shop.publish("a", noop("a").replace("a:", "c:"))
        await archive_workflow(shop.database, shop.scope, "a")
        async with shop.database.read() as connection:
            page = await list_versions(connection, shop.scope, "a", before=None, limit=2)
            rest = await list_versions(connection, shop.scope, "a", before=page[-1].version, limit=2)
            assert [each.version for each in (*page, *rest)] == [3, 2, 1]
            assert {each.created_by for each in page} == {"key:k"}
            second = await get_version(connection, shop.scope, "a", 2)
            assert second.source == noop("a").replace("a:", "b:")
            for wrong in (0, -1, 4, 2**31, 10**30):
                with pytest.raises(VersionNotFoundError):
                    await get_version(connection, shop.scope, "a", wrong)
            with pytest.raises(WorkflowNotFoundError):
                await list_versions(connection, (await shop.workspace()).scope, "a", before=None, limit=2)
        await shop.save("a", noop("a"))
        async with shop.database.read() as connection:
            assert await list_versions(connection, shop.scope, "a", before=None, limit=2) == []


async def test_many_that_publish_at_once_make_one_version(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.save("a", noop("a"))
        done = await asyncio.gather(
            *(publish_workflow(shop.database, shop.scope, shop.checker, "a") for _ in range(10))
        )
        assert sorted(each.published for each in done) == [False] * 9 + [True]
        assert {each.version for each in done} == {1}


async def test_what_is_saved_while_it_is_checked_is_what_is_published(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.save("a", noop("a"))

        class Meddler:
            def __init__(self) -> None:
                self.times = 0

            async def check(self, text, workspace_id, name):
                checked = await shop.checker.check(text, workspace_id, name)
                self.times += 1
                if self.times == 1:
                    await shop.save("a", noop("a").replace("a:", "late:"))
                return checked

        meddler = Meddler()
        assert (await publish_workflow(shop.database, shop.scope, meddler, "a")).version == 1
        assert meddler.times == 2
        assert "late" in (await shop.rows("SELECT source FROM workflow_definition_versions"))[0]["source"]


async def test_publishing_is_in_the_audit_trail(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        await shop.publish("a")
        rows = await shop.rows("SELECT subject, details FROM activity WHERE action = 'workflow.published'")
        assert [(row["subject"], row["details"]["version"]) for row in rows] == [("workflow:a", 1)]


async def test_the_schemas_of_inputs_are_read_without_the_rest(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        await shop.publish("b", "name: b\ninput: {type: object, properties: {x: {default: ä}}}\nnodes: {}\n")
        ids = await version_ids(shop)
        async with shop.database.read() as connection:
            found = await load_input_schemas(connection, [*ids, new_id()])
        assert [orjson.loads(found[version_id]) for version_id in ids] == [
            None,
            {"type": "object", "properties": {"x": {"default": "ä"}}},
        ]
        assert len(found) == 2


@pytest.mark.slow
async def test_a_document_of_four_mebibytes_is_kept_and_published(database_url: str) -> None:
    text = "name: a\nnodes:\n" + "".join(
        f"  n{i}: {{type: log, with: {{message: {'x' * 330}}}}}\n" for i in range(10_000)
    )
    async with opened(database_url) as shop:
        assert 3_500_000 < len(text) < 4 * 1024 * 1024
        assert (await shop.publish("a", text)).version == 1
        assert (await shop.publish("a", text)).published is False
