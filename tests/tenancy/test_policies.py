from itertools import product
from uuid import uuid4

import pytest

from riven.tenancy.errors import ForbiddenError, ForeignWorkspaceError
from riven.tenancy.policies import Scope, require, require_platform, scope_for
from riven.tenancy.principals import WORKSPACE_ROLES, Principal, Role

HERE = uuid4()
ELSEWHERE = uuid4()


def key(role: Role, workspace=HERE) -> Principal:
    return Principal(kind="key", id="k", name="k", workspace_id=workspace, role=role)


PLATFORM = Principal(kind="key", id="p", name="p", role=Role.PLATFORM)


@pytest.mark.parametrize(("has", "needs"), list(product(WORKSPACE_ROLES, repeat=2)))
def test_a_role_may_do_what_lower_roles_may(has: Role, needs: Role) -> None:
    order = ["VIEWER", "OPERATOR", "EDITOR", "ADMIN"]
    if order.index(has) >= order.index(needs):
        assert scope_for(key(has), HERE, needs) == Scope(HERE, key(has))
    else:
        with pytest.raises(ForbiddenError, match=f"needs the role {needs}, and yours is {has}") as refused:
            scope_for(key(has), HERE, needs)
        assert refused.value.code == "forbidden"


@pytest.mark.parametrize("role", WORKSPACE_ROLES)
def test_no_role_reaches_into_another_workspace(role: Role) -> None:
    with pytest.raises(ForeignWorkspaceError):
        require(key(role), ELSEWHERE, Role.VIEWER)


@pytest.mark.parametrize("role", WORKSPACE_ROLES)
def test_a_platform_key_is_admin_everywhere(role: Role) -> None:
    require(PLATFORM, HERE, role)
    require(PLATFORM, ELSEWHERE, role)


@pytest.mark.parametrize("role", WORKSPACE_ROLES)
def test_what_is_the_platforms_is_for_platform_keys_alone(role: Role) -> None:
    require_platform(PLATFORM)
    with pytest.raises(ForbiddenError, match="platform key"):
        require_platform(key(role))


def test_a_user_has_a_role_of_its_own_in_each_workspace() -> None:
    user = Principal(
        kind="user", id="auth0|1", name="Ada", memberships={HERE: Role.VIEWER, ELSEWHERE: Role.ADMIN}
    )
    require(user, ELSEWHERE, Role.ADMIN)
    with pytest.raises(ForbiddenError):
        require(user, HERE, Role.OPERATOR)
    with pytest.raises(ForeignWorkspaceError):
        require(user, uuid4(), Role.VIEWER)
    assert not user.is_platform
    assert user.workspaces == [HERE, ELSEWHERE]


def test_rows_name_who_did_something_by_kind_and_id() -> None:
    assert key(Role.ADMIN).actor == "key:k"
    assert Principal(kind="user", id="auth0|1", name="Ada").actor == "user:auth0|1"
