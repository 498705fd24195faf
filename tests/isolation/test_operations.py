"""Every operation, called by those who may not: nothing is told, nothing is changed."""

import pytest
from tests.api.harness import assert_problem
from tests.isolation.operations import ANYBODY, CALLS, OWNED, PLATFORM, PROTECTED, PUBLIC, Call, operations
from tests.isolation.scene import ROLES, Held, Scene, scene, unknown
from tests.tenancy.issuer import EC, NEW, NOW, token

from riven.tenancy.keys import make_secret

KINDS = ("key", "user")
ROLE_TOLD = {PUBLIC: None, ANYBODY: None}


async def ask(
    here: Scene, operation: tuple[str, str], call: Call, credential: str | None, asked: Held, **more: object
):
    """`asked`: whose things are named."""
    method, path = operation
    values = asked.values | dict(more.pop("values", {}))
    if method == "GET" and "done" in asked.executions:
        values["executionId"] = asked.executions["done"]  # one that is over is followed to its end
    body = None if call.body is None else call.body(asked)
    return await here.ask(method, call.address(path, values), credential, body, call.content, **more)


async def test_every_operation_of_the_application_is_called_here(database_url):
    async with scene(database_url) as here:
        described = (await here.ask("GET", "/openapi.json", None)).json()
        found = set(operations(described))
        assert found == set(CALLS), "call what is new in tests/isolation/operations.py"
        for method, path in found:
            told = described["paths"][path][method.lower()]
            role = CALLS[method, path].role
            assert ("security" in told, told.get("x-role")) == (role != PUBLIC, ROLE_TOLD.get(role, role))


async def test_what_is_public_tells_nothing_of_tenants(database_url):
    async with scene(database_url) as here:
        for operation, call in CALLS.items():
            if call.role == PUBLIC:
                answer = await ask(here, operation, call, None, here.acme)
                assert answer.status_code == 200
                assert here.leaks(answer) == []
        for path in ("/openapi.json", "/docs", "/problems", "/problems/forbidden"):
            answer = await here.ask("GET", path, None)
            assert answer.status_code == 200
            assert here.leaks(answer) == []


async def test_nothing_is_done_for_who_shows_no_good_credential(database_url, subtests):
    async with scene(database_url) as here:
        admin = here.acme.tenant.admin
        broken = {
            "none": None,
            "no scheme": admin,
            "another scheme": f"Basic {admin}",
            "no token": "Bearer ",
            "one that is unknown": f"Bearer {make_secret()}",
            "one letter more": f"Bearer {admin}a",
            "one letter less": f"Bearer {admin[:-1]}",
            "its letters turned": f"Bearer {admin.swapcase()}",
            "two of them": f"Bearer {admin} {admin}",
            "its id": f"Bearer {here.acme.values['keyId']}",
            "an expired key": f"Bearer {await expired_key(here)}",
            "a revoked key": f"Bearer {await revoked_key(here)}",
            "an expired token": "Bearer " + token(EC, "ES256", sub=f"{here.acme.id}|ADMIN", exp=NOW - 60),
            "a token of nobody's key": "Bearer " + token(NEW, "ES256", sub=f"{here.acme.id}|ADMIN"),
            "a token for others": "Bearer " + token(EC, "ES256", sub=f"{here.acme.id}|ADMIN", aud="others"),
        }
        before = await here.rows()
        for operation, call in PROTECTED.items():
            for name, sent in broken.items():
                with subtests.test(operation=operation, credential=name):
                    headers = {} if sent is None else {"Authorization": sent}
                    answer = await ask(here, operation, call, None, here.acme, headers=headers)
                    assert_problem(answer, 401, "unauthenticated")
                    assert answer.headers["www-authenticate"].startswith("Bearer")
                    assert here.leaks(answer) == []
        assert await here.rows() == before


async def test_strangers_are_refused_whatever_they_are_at_home(database_url, subtests):
    async with scene(database_url) as here:
        before = await here.rows()
        for operation, call in OWNED.items():
            for name, (_, credential) in here.other.credentials().items():
                with subtests.test(operation=operation, credential=name):
                    answer = await ask(here, operation, call, credential, here.acme)
                    code = "forbidden" if call.role == PLATFORM else "foreign_workspace"
                    problem = answer.json()
                    assert (answer.status_code, problem["type"]) == (403, f"/problems/{code}")
                    assert here.leaks(answer) == []
        assert await here.rows() == before


async def test_what_is_foreign_is_not_reached_through_what_is_ones_own(database_url, subtests):
    """Their ids, names and numbers below the address of one's own workspace."""
    own = ("workspaceId",)
    async with scene(database_url) as here:
        before = await here.rows()
        for operation, call in OWNED.items():
            method, path = operation
            if "{workspaceId}" not in path or path.count("{") < 2 or method == "PUT":
                continue
            for kind in KINDS:
                with subtests.test(operation=operation, kind=kind):
                    credential = here.other.credentials()[f"{kind} ADMIN"][1]
                    values = {name: here.other.values[name] for name in own}
                    answer = await ask(here, operation, call, credential, here.acme, values=values)
                    assert answer.status_code in (403, 404)
                    assert here.leaks(answer) == []
        assert await here.rows() == before


@pytest.mark.parametrize("who", ["stranger", "member", "platform"])
async def test_what_is_not_there_is_not_found(database_url, subtests, who):
    async with scene(database_url) as here:
        credential = {
            "stranger": here.other.tenant.admin,
            "member": here.acme.tenant.admin,
            "platform": "platform",
        }[who]
        before = await here.rows()
        nothing = Held(here.acme.tenant, unknown(here.acme))
        for operation, call in OWNED.items():
            with subtests.test(operation=operation):
                answer = await ask(here, operation, call, credential, nothing)
                refused = call.role == PLATFORM and who != "platform"
                assert answer.status_code == (403 if refused else 404), answer.text
                assert here.leaks(answer) == []
        assert await here.rows() == before
        if who == "stranger":
            return
        within = Held(here.acme.tenant, nothing.values | {"workspaceId": here.acme.id})
        for operation, call in sorted(OWNED.items(), key=lambda each: each[0][0] == "PUT"):
            names_more = call.of == "body" or (
                "{workspaceId}" in operation[1] and operation[1].count("{") > 1
            )
            if names_more:
                with subtests.test(operation=operation, workspace="own"):
                    answer = await ask(here, operation, call, credential, within)
                    assert answer.status_code == call.unnamed, answer.text


async def test_roles_that_are_too_low_change_nothing(database_url, subtests):
    async with scene(database_url) as here:
        before = await here.rows()
        count = 0
        for operation, call in PROTECTED.items():
            for name, (role, credential) in here.acme.credentials().items():
                if role not in call.lower:
                    continue
                count += 1
                with subtests.test(operation=operation, credential=name):
                    answer = await ask(here, operation, call, credential, here.acme)
                    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
            with subtests.test(operation=operation):
                assert await here.rows() == before
        assert count > 80


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ROLES)
async def test_roles_that_are_high_enough_may(database_url, subtests, kind, role):
    """So that the table has the lowest of them, and what is refused above is refused for the role alone."""
    async with scene(database_url) as here:
        credential = here.acme.credentials()[f"{kind} {role}"][1]
        for operation, call in sorted(PROTECTED.items(), key=lambda each: each[0][0] == "DELETE"):
            if role in call.enough:
                with subtests.test(operation=operation):
                    await may(here, operation, call, credential)


async def test_the_platform_may_do_everything(database_url, subtests):
    async with scene(database_url) as here:
        for operation, call in sorted(PROTECTED.items(), key=lambda each: each[0][0] == "DELETE"):
            with subtests.test(operation=operation):
                await may(here, operation, call, "platform")


async def may(here: Scene, operation: tuple[str, str], call: Call, credential: str) -> None:
    answer = await ask(here, operation, call, credential, here.acme)
    assert 200 <= answer.status_code < 300, answer.text


async def expired_key(here: Scene) -> str:
    body = {"name": "old", "role": "ADMIN", "expiresAt": "2000-01-01T00:00:00Z"}
    made = await here.api.post(f"/workspaces/{here.acme.id}/keys", body)
    return str(made.json()["key"])


async def revoked_key(here: Scene) -> str:
    path = f"/workspaces/{here.acme.id}/keys"
    made = (await here.api.post(path, {"name": "old", "role": "ADMIN"})).json()
    assert (await here.api.get(f"/workspaces/{here.acme.id}", key=made["key"])).status_code == 200
    assert (await here.api.delete(f"{path}/{made['keyId']}")).status_code == 204
    return str(made["key"])
