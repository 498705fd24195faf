from tests.engines.embedded.workers import installation

from riven.db.identity import new_id
from riven.views import documents as documents_module
from riven.views.documents import Documents

NOOP = "name: n\nnodes: {a: {type: noop}}"


async def test_a_version_is_read_once(database_url):
    async with installation(database_url) as here:
        _, version = await here.publish(NOOP)
        documents = Documents()
        async with here.database.transaction() as connection:
            first = await documents.get(connection, version)
            await connection.execute("DELETE FROM workflow_definition_versions")
            assert first is not None
            assert await documents.get(connection, version) is first
            assert await Documents().get(connection, version) is None


async def test_what_is_gone_or_damaged_is_none_and_not_remembered(database_url):
    async with installation(database_url) as here:
        _, version = await here.publish(NOOP)
        documents = Documents()
        async with here.database.transaction() as connection:
            assert await documents.get(connection, new_id()) is None
            whole = await connection.fetch_value("SELECT document FROM workflow_definition_versions")
            await connection.execute("UPDATE workflow_definition_versions SET document = '[1]'")
            assert await documents.get(connection, version) is None
            await connection.execute("UPDATE workflow_definition_versions SET document = $1", whole)
            assert await documents.get(connection, version) is not None


async def test_the_oldest_is_forgotten(database_url, monkeypatch):
    monkeypatch.setattr(documents_module, "_MOST", 2)
    async with installation(database_url) as here:
        versions = [(await here.publish(NOOP))[1] for _ in range(3)]
        documents = Documents()
        async with here.database.transaction() as connection:
            for version in (versions[0], versions[1], versions[0], versions[2]):
                await documents.get(connection, version)
        assert list(documents._known) == [versions[0], versions[2]]
