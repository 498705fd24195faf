from uuid import uuid4

import pytest
from tests.tenancy.tenants import make_workspace, scope

from riven.db.engine import Database
from riven.tenancy.activity import list_activity
from riven.tenancy.errors import ForbiddenError, InvalidRequestError, NotFoundError
from riven.tenancy.members import (
    MemberExistsError,
    MemberNotFoundError,
    add_member,
    change_member,
    list_members,
    memberships_of,
    remove_member,
)
from riven.tenancy.principals import Role


async def test_a_member_is_added_changed_removed_and_audited(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    admin = scope(workspace)
    async with database.transaction() as connection:
        ada = await add_member(connection, admin, subject="auth0|ada", role=Role.VIEWER)
        await add_member(connection, admin, subject="auth0|bob", role=Role.ADMIN)
        assert await memberships_of(connection, "auth0|ada") == {workspace: Role.VIEWER}
        changed = await change_member(connection, admin, ada.id, Role.EDITOR)
        assert await memberships_of(connection, "auth0|ada") == {workspace: Role.EDITOR}
        names = [each.subject for each in await list_members(connection, admin, before=None, limit=5)]
        await remove_member(connection, admin, ada.id)
        assert await memberships_of(connection, "auth0|ada") == {}
        trail = await list_activity(connection, admin, before=None, limit=3)
    await database.close()
    assert changed.role is Role.EDITOR
    assert names == ["auth0|bob", "auth0|ada"]
    assert [each.action for each in trail] == ["member.removed", "member.changed", "member.added"]
    assert trail[0].details == {"subject": "auth0|ada", "role": "EDITOR"}
    assert trail[0].subject == f"member:{ada.id}"


async def test_nobody_is_a_member_twice(database_url: str) -> None:
    database = Database(database_url)
    admin = scope(await make_workspace(database))
    async with database.transaction() as connection:
        await add_member(connection, admin, subject="s", role=Role.VIEWER)
        with pytest.raises(MemberExistsError, match="PATCH the member"):
            await add_member(connection, admin, subject="s", role=Role.ADMIN)
    await database.close()


async def test_members_of_another_workspace_are_not_there(database_url: str) -> None:
    database = Database(database_url)
    here, there = scope(await make_workspace(database)), scope(await make_workspace(database, "b"))
    async with database.transaction() as connection:
        member = await add_member(connection, here, subject="s", role=Role.VIEWER)
        with pytest.raises(MemberNotFoundError):
            await change_member(connection, there, member.id, Role.ADMIN)
        with pytest.raises(MemberNotFoundError):
            await remove_member(connection, there, member.id)
        assert await list_members(connection, there, before=None, limit=5) == []
        assert await memberships_of(connection, "s") == {here.workspace_id: Role.VIEWER}
    await database.close()


async def test_members_are_for_admins_and_have_workspace_roles(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    editor = scope(workspace, Role.EDITOR)
    async with database.transaction() as connection:
        with pytest.raises(ForbiddenError):
            await add_member(connection, editor, subject="s", role=Role.VIEWER)
        with pytest.raises(ForbiddenError):
            await list_members(connection, editor, before=None, limit=5)
        with pytest.raises(ForbiddenError):
            await change_member(connection, editor, uuid4(), Role.VIEWER)
        with pytest.raises(ForbiddenError):
            await remove_member(connection, editor, uuid4())
        with pytest.raises(InvalidRequestError):
            await add_member(connection, scope(workspace), subject="s", role=Role.PLATFORM)
    await database.close()


async def test_no_member_is_added_to_a_workspace_that_is_gone(database_url: str) -> None:
    database = Database(database_url)
    with pytest.raises(NotFoundError):
        async with database.transaction() as connection:
            await add_member(connection, scope(uuid4()), subject="s", role=Role.VIEWER)
    await database.close()
