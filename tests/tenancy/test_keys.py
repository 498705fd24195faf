import re

import pytest
from tests.tenancy.tenants import PLATFORM, make_workspace, scope

from riven.db.engine import Database
from riven.db.identity import new_id
from riven.tenancy.activity import list_activity
from riven.tenancy.errors import ForbiddenError, ForeignWorkspaceError, InvalidRequestError
from riven.tenancy.keys import (
    KeyNotFoundError,
    create_first_platform_key,
    create_key,
    create_platform_key,
    hash_secret,
    is_key,
    list_keys,
    list_platform_keys,
    make_secret,
    revoke_key,
)
from riven.tenancy.principals import Role


def test_a_key_is_the_mark_and_256_random_bits_in_letters_and_digits() -> None:
    secrets = {make_secret() for _ in range(1_000)}
    assert len(secrets) == 1_000
    assert all(re.fullmatch("rvn_[0-9A-Za-z]{43}", each) and is_key(each) for each in secrets)
    assert 62**43 >= 2**256
    # every place but the last, which holds what is left of 256 bits, takes every letter and digit
    assert all(len({each[place] for each in secrets}) == 62 for place in range(4, 46))


@pytest.mark.parametrize(
    "text", ["", "rvn_", "rvn_" + "a" * 42, "rvn_" + "a" * 44, "x" * 47, "rvn_" + "ä" * 43]
)
def test_other_texts_are_no_keys(text: str) -> None:
    assert not is_key(text)


async def test_the_database_never_sees_the_key(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    async with database.transaction() as connection:
        made = await create_key(connection, scope(workspace), name="ci", role=Role.OPERATOR, expires_at=None)
    async with database.read() as connection:
        rows = await connection.fetch("SELECT * FROM api_keys")
        trail = await list_activity(connection, scope(workspace), before=None, limit=10)
    await database.close()
    assert [row["key_hash"] for row in rows] == [hash_secret(made.secret)]
    assert made.secret.startswith(rows[0]["prefix"])
    assert len(rows[0]["prefix"]) == 12
    assert made.secret not in repr([*rows[0].values(), *trail])
    assert trail[0].action == "key.created"
    assert trail[0].actor == "key:1"
    assert trail[0].details == {"name": "ci", "prefix": rows[0]["prefix"], "role": "OPERATOR"}


async def test_only_admins_make_list_and_revoke_keys(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    other = await make_workspace(database, "other")
    async with database.transaction() as connection:
        made = await create_key(connection, scope(workspace), name="k", role=Role.ADMIN, expires_at=None)
        for role in (Role.VIEWER, Role.OPERATOR, Role.EDITOR):
            low = scope(workspace, role)
            with pytest.raises(ForbiddenError):
                await create_key(connection, low, name="k", role=Role.VIEWER, expires_at=None)
            with pytest.raises(ForbiddenError):
                await list_keys(connection, low, before=None, limit=1)
            with pytest.raises(ForbiddenError):
                await revoke_key(connection, low.principal, made.stored.id)
        with pytest.raises(ForeignWorkspaceError):
            await revoke_key(connection, scope(other).principal, made.stored.id)
        assert (await revoke_key(connection, scope(workspace).principal, made.stored.id)).name == "k"
        with pytest.raises(KeyNotFoundError):
            await revoke_key(connection, scope(workspace).principal, new_id())
    await database.close()


async def test_what_is_revoked_twice_is_told_of_once(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    async with database.transaction() as connection:
        made = await create_key(connection, scope(workspace), name="k", role=Role.ADMIN, expires_at=None)
    for _ in range(2):
        async with database.transaction() as connection:
            await revoke_key(connection, scope(workspace).principal, made.stored.id)
    async with database.read() as connection:
        trail = await list_activity(connection, scope(workspace), before=None, limit=10)
    await database.close()
    assert [each.action for each in trail][:2] == ["key.revoked", "key.created"]


async def test_nobody_becomes_the_platform_by_making_a_key(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    async with database.transaction() as connection:
        with pytest.raises(InvalidRequestError):
            await create_key(connection, scope(workspace), name="k", role=Role.PLATFORM, expires_at=None)
        with pytest.raises(ForbiddenError):
            await create_platform_key(connection, scope(workspace).principal, name="k", expires_at=None)
        platform = await create_platform_key(connection, PLATFORM, name="p", expires_at=None)
        with pytest.raises(ForbiddenError):
            await revoke_key(connection, scope(workspace).principal, platform.stored.id)
        with pytest.raises(ForbiddenError):
            await list_platform_keys(connection, scope(workspace).principal, before=None, limit=10)
        assert [
            key.name for key in await list_platform_keys(connection, PLATFORM, before=None, limit=10)
        ] == ["p"]
    await database.close()


async def test_the_first_platform_key_is_made_once(database_url: str) -> None:
    database = Database(database_url)
    async with database.transaction() as connection:
        first = await create_first_platform_key(connection, name="first")
    async with database.transaction() as connection:
        second = await create_first_platform_key(connection, name="second")
    assert first is not None
    assert second is None
    async with database.transaction() as connection:
        await revoke_key(connection, PLATFORM, first.stored.id)
    async with database.transaction() as connection:  # a revoked one was shown once, too
        assert await create_first_platform_key(connection, name="third") is None
    await database.close()


async def test_lists_show_keys_newest_first_by_pages(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    other = await make_workspace(database, "other")
    async with database.transaction() as connection:
        for number in range(5):
            await create_key(
                connection, scope(workspace), name=str(number), role=Role.VIEWER, expires_at=None
            )
        await create_key(connection, scope(other), name="foreign", role=Role.VIEWER, expires_at=None)
        first = await list_keys(connection, scope(workspace), before=None, limit=3)
        rest = await list_keys(connection, scope(workspace), before=first[-1].id, limit=3)
    await database.close()
    assert [key.name for key in first] == ["4", "3", "2"]
    assert [key.name for key in rest] == ["1", "0"]
