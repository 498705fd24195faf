"""`riven migrate`: bring the database to the schema of this version, and make the first platform key."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from riven.cli.app import DONE, CommandError
from riven.cli.output import complain, say
from riven.core.errors import RivenError
from riven.db.engine import Database
from riven.db.errors import DatabaseError, DatabaseUnavailableError
from riven.db.schema import migrate
from riven.main.launch import read_settings, require_servers
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


def run_migrate(*, platform_key: bool, register: Callable[[Settings], Coroutine[Any, Any, None]]) -> int:
    """The exit code. Raises CallError for settings that cannot be used, CommandError when it cannot be done.

    `register` makes known to Temporal what has to be, where Temporal is the engine.
    """
    settings = read_settings()
    require_servers(settings)
    try:
        revision, key = asyncio.run(_migrate(settings.database(), platform_key=platform_key))
    except DatabaseUnavailableError as error:
        raise CommandError(f"the database of RIVEN_DATABASE_URL cannot be reached: {error}") from None
    except DatabaseError as error:
        raise CommandError(f"the database cannot be migrated: {error}") from None
    complain(f"riven: the schema is at revision {revision}")
    if platform_key:
        if key is None:
            raise CommandError("there is a platform key already; make further ones with 'riven keys'")
        say(key)
    if settings.engine == "temporal":
        try:
            asyncio.run(register(settings))
        except RivenError as error:
            raise CommandError(f"the search attributes cannot be registered: {error}") from None
        complain(f"riven: Temporal at {settings.temporal()} knows the search attributes")
    return DONE
