from tests.catalog.kit import Shop, noop, opened

from riven.db.identity import new_id
from riven.intake.schemas import InputSchemas


async def find(shop: Shop, schemas: InputSchemas, *versions) -> dict:
    async with shop.database.read() as connection:
        return await schemas.find(connection, [(version, "a") for version in versions])


async def test_schemas_are_read_once(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a", "name: a\ninput: {type: object}\nnodes: {}\n")
        await shop.publish("b")
        first, second = [
            row["id"] for row in await shop.rows("SELECT id FROM workflow_definition_versions ORDER BY id")
        ]
        schemas, gone = InputSchemas(), new_id()
        found = await find(shop, schemas, first, second, gone)
        assert {key: each.input for key, each in found.items()} == {first: {"type": "object"}, second: None}
        await shop.execute("DELETE FROM workflow_definition_versions")
        assert await find(shop, schemas, first, second) == found


async def test_the_least_recently_asked_for_are_forgotten(database_url: str) -> None:
    async with opened(database_url) as shop:
        for name in ("a", "b", "c"):
            await shop.publish(name, noop(name))
        ids = [
            row["id"] for row in await shop.rows("SELECT id FROM workflow_definition_versions ORDER BY id")
        ]
        schemas = InputSchemas(most_bytes=1_200)
        for version in (ids[0], ids[1], ids[0], ids[2]):
            await find(shop, schemas, version)
        assert set(schemas._kept) == {ids[0], ids[2]}
        assert schemas._bytes == sum(size for _, size in schemas._kept.values())


async def test_one_that_is_larger_than_all_may_be_is_not_kept(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        (row,) = await shop.rows("SELECT id FROM workflow_definition_versions")
        schemas = InputSchemas(most_bytes=10)
        assert row["id"] in await find(shop, schemas, row["id"])
        assert not schemas._kept
