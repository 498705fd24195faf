"""`riven migrate`: bring the database to the schema of this version, and make the first platform key."""

import asyncio

from riven.db.engine import Database
from riven.db.schema import migrate
from riven.settings import Settings
from riven.tenancy.keys import create_first_platform_key


async def _migrate(url: str, *, platform_key: bool) -> tuple[str, str | None]:
    revision = await migrate(url)
    if not platform_key:
        return revision, None
    database = Database(url, application="riven migrate", pool_size=1)
    try:
        async with database.transaction() as connection:
            made = await create_first_platform_key(connection, name="first")
    finally:
        await database.close()
    return revision, None if made is None else made.secret


def run_migrate(settings: Settings, *, platform_key: bool) -> tuple[str, str | None]:
    """The revision that the schema has now, and the new key: None if none was wanted, or if there is one already.

    Raises DatabaseError, SettingsError.
    """
    return asyncio.run(_migrate(settings.database(), platform_key=platform_key))
