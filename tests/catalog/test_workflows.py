import asyncio

import pytest
from tests.catalog.kit import Shop, noop, opened, scope_of

from riven.catalog.errors import DraftChangedError, WorkflowNotFoundError
from riven.catalog.repository import get_workflow, list_workflows
from riven.catalog.workflows import Expected, archive_workflow, save_draft
from riven.db.errors import ConstraintError
from riven.db.identity import new_id
from riven.tenancy.errors import InvalidRequestError


async def test_a_draft_comes_back_as_it_was_sent(database_url: str) -> None:
    text = "# of mine\nname: refund\nnodes:\n  tell: {type: log, with: {message: on}}\n"
    async with opened(database_url) as shop:
        saved = await shop.save("refund", text)
        assert saved.source == text
        assert saved.document == {
            "name": "refund",
            "nodes": {"tell": {"type": "log", "with": {"message": "on"}}},
        }
        assert saved.problems == []
        assert (saved.status, saved.latest_version) == ("DRAFT", None)
        async with shop.database.read() as connection:
            assert await get_workflow(connection, shop.scope, "refund") == saved


async def test_json_is_kept_too(database_url: str) -> None:
    async with opened(database_url) as shop:
        saved = await shop.save("refund", '{"name": "refund", "nodes": {}}')
        assert saved.document == {"name": "refund", "nodes": {}}
        assert saved.problems == []


async def test_an_invalid_draft_is_kept_with_all_that_is_wrong(database_url: str) -> None:
    async with opened(database_url) as shop:
        saved = await shop.save("refund", "name: refund\nnodes:\n  a: {type: lag, needs: [b]}\n")
        assert [(each["path"], each["code"], each["severity"]) for each in saved.problems] == [
            ("nodes.a.type", "unknown_type", "error"),
            ("nodes.a.needs[0]", "unknown_node", "error"),
        ]
        assert all(each["line"] == 3 for each in saved.problems)


@pytest.mark.parametrize("text", ["", "{{", "a: b: c", '{"a":', "- 1", "\t", "&a [*a]", "x" * 100_000])
async def test_what_is_no_document_at_all_is_kept(database_url: str, text: str) -> None:
    async with opened(database_url) as shop:
        saved = await shop.save("refund", text)
        assert saved.source == text
        assert any(each["severity"] == "error" for each in saved.problems)


async def test_json_with_what_no_text_can_hold_is_kept(database_url: str) -> None:
    async with opened(database_url) as shop:
        saved = await shop.save("a", '{"name": "a\\u0000", "x": "\\ud800"}')
        assert {each["code"] for each in saved.problems} >= {"nul_character", "lone_surrogate"}
        assert await shop.save("a", noop("a"))


@pytest.mark.parametrize(("text", "code"), [(b"\xff\x00\xfe", "encoding"), (b"name: a\x00", "nul_character")])
async def test_what_is_no_text_is_refused(database_url: str, text: bytes, code: str) -> None:
    async with opened(database_url) as shop:
        with pytest.raises(InvalidRequestError) as refused:
            await shop.save("refund", text)
        assert [each.code for each in refused.value.problems] == [code]
        assert await shop.value("SELECT count(*) FROM workflow_definitions") == 0


async def test_utf_16_with_its_mark_is_text(database_url: str) -> None:
    async with opened(database_url) as shop:
        saved = await shop.save("a", noop("a").encode("utf-16"))
        assert (saved.source, saved.problems) == (noop("a"), [])


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", "a\0", "é", "a" * 64, "../a", "a\n"])
async def test_a_name_is_a_name(database_url: str, name: str) -> None:
    async with opened(database_url) as shop:
        with pytest.raises(InvalidRequestError) as refused:
            await shop.save(name, noop("a"))
        assert [(each.path, each.code) for each in refused.value.problems] == [("name", "invalid_name")]
        async with shop.database.read() as connection:
            with pytest.raises(WorkflowNotFoundError):
                await get_workflow(connection, shop.scope, name)


async def test_the_etag_is_that_of_the_text(database_url: str) -> None:
    async with opened(database_url) as shop:
        first = await shop.save("a", noop("a"))
        second = await shop.save("a", noop("a") + "# more\n")
        third = await shop.save("a", noop("a"))
        assert first.etag == third.etag != second.etag
        assert first.id == second.id == third.id
        assert first.updated_at < second.updated_at


async def test_a_draft_that_was_saved_meanwhile_is_not_overwritten(database_url: str) -> None:
    async with opened(database_url) as shop:

        async def save(text: str, *etags: str) -> str:
            expected = Expected(frozenset(etags))
            saved = await save_draft(shop.database, shop.scope, shop.checker, "a", text.encode(), expected)
            return saved.etag

        with pytest.raises(DraftChangedError, match="no such workflow"):
            await save(noop("a"), "0")
        first = (await shop.save("a", noop("a"))).etag
        second = await save(noop("a") + "#2\n", first)
        with pytest.raises(DraftChangedError, match="saved by somebody else"):
            await save(noop("a") + "#3\n", first)
        assert await save(noop("a") + "#4\n", first, second)
        assert (await shop.rows("SELECT source FROM workflow_definitions"))[0]["source"].endswith("#4\n")


async def test_it_may_be_asked_for_that_there_is_one_or_none(database_url: str) -> None:
    async with opened(database_url) as shop:

        async def save(expected: Expected) -> None:
            await save_draft(shop.database, shop.scope, shop.checker, "a", noop("a").encode(), expected)

        with pytest.raises(DraftChangedError):
            await save(Expected(exists=True))
        await save(Expected(exists=False))
        with pytest.raises(DraftChangedError, match="already"):
            await save(Expected(exists=False))
        await save(Expected(exists=True))


async def test_of_many_that_save_with_one_etag_one_succeeds(database_url: str) -> None:
    async with opened(database_url) as shop:
        first = await shop.save("a", noop("a"))

        async def save(number: int) -> bool:
            expected = Expected(frozenset([first.etag]))
            text = f"{noop('a')}# {number}\n".encode()
            try:
                await save_draft(shop.database, shop.scope, shop.checker, "a", text, expected)
            except DraftChangedError:
                return False
            return True

        assert sum(await asyncio.gather(*(save(number) for number in range(10)))) == 1


async def test_of_many_that_create_one_name_all_save_the_same(database_url: str) -> None:
    async with opened(database_url) as shop:
        saved = await asyncio.gather(*(shop.save("a", f"{noop('a')}# {n}\n") for n in range(10)))
        assert len({each.id for each in saved}) == 1
        assert await shop.value("SELECT count(*) FROM workflow_definitions") == 1


async def test_workflows_are_of_their_workspace(database_url: str) -> None:
    async with opened(database_url) as shop:
        other = await shop.workspace()
        mine, theirs = await shop.save("a", noop("a")), await other.save("a", noop("a"))
        assert mine.id != theirs.id
        async with shop.database.read() as connection:
            assert [
                each.id for each in await list_workflows(connection, shop.scope, before=None, limit=9)
            ] == [mine.id]


async def test_the_list_shows_the_newest_first_a_page_at_a_time(database_url: str) -> None:
    async with opened(database_url) as shop:
        for name in ("a", "b", "c"):
            await shop.save(name, noop(name))
        async with shop.database.read() as connection:
            first = await list_workflows(connection, shop.scope, before=None, limit=2)
            rest = await list_workflows(connection, shop.scope, before=first[-1].id, limit=2)
        assert [each.name for each in (*first, *rest)] == ["c", "b", "a"]


async def test_an_archived_workflow_gives_its_name_away(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        first = await shop.save("a", noop("a"))
        with pytest.raises(DraftChangedError):
            await archive_workflow(shop.database, shop.scope, "a", Expected(frozenset(["other"])))
        await archive_workflow(shop.database, shop.scope, "a", Expected(frozenset([first.etag])))
        with pytest.raises(WorkflowNotFoundError):
            await archive_workflow(shop.database, shop.scope, "a")
        async with shop.database.read() as connection:
            assert await list_workflows(connection, shop.scope, before=None, limit=9) == []
            with pytest.raises(WorkflowNotFoundError):
                await get_workflow(connection, shop.scope, "a")
        assert await shop.value("SELECT count(*) FROM workflow_definition_versions") == 1
        again = await shop.save("a", noop("a"))
        assert again.id != first.id
        assert (again.status, again.latest_version) == ("DRAFT", None)


async def test_every_change_is_in_the_audit_trail_and_what_changes_nothing_is_not(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.save("a", noop("a"))
        await shop.save("a", noop("a"))
        await shop.save("a", "nonsense")
        await archive_workflow(shop.database, shop.scope, "a")
        rows = await shop.rows("SELECT actor, action, subject, details FROM activity ORDER BY id")
        assert {(row["actor"], row["subject"]) for row in rows} == {("key:k", "workflow:a")}
        assert [row["action"] for row in rows] == ["workflow.saved", "workflow.saved", "workflow.archived"]
        assert [row["details"].get("valid") for row in rows] == [True, False, None]


async def test_a_workspace_that_is_gone_takes_no_draft(database_url: str) -> None:
    async with opened(database_url) as shop:
        nowhere = Shop(shop.database, shop.checker, scope_of(new_id()))
        with pytest.raises(ConstraintError):
            await nowhere.save("a", noop("a"))
