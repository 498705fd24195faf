from tests.api.harness import assert_problem, serving


async def test_every_change_leaves_a_trace_the_newest_first(database_url: str) -> None:
    async with serving(database_url) as api:
        made = (await api.post("/workspaces", {"name": "acme", "tier": "PRO"})).json()
        path = f"/workspaces/{made['workspaceId']}"
        key = (await api.post(f"{path}/keys", {"name": "k", "role": "ADMIN"})).json()
        await api.patch(path, {"limits": {"running": 9}})
        member = (
            await api.post(f"{path}/members", {"subject": "s", "role": "VIEWER"}, key=key["key"])
        ).json()
        await api.patch(f"{path}/members/{member['memberId']}", {"role": "EDITOR"}, key=key["key"])
        await api.delete(f"{path}/members/{member['memberId']}", key=key["key"])
        await api.delete(f"{path}/keys/{key['keyId']}")
        body = (await api.get(f"{path}/activity")).json()
        assert body["nextCursor"] is None
        assert [each["action"] for each in body["items"]] == [
            "key.revoked",
            "member.removed",
            "member.changed",
            "member.added",
            "workspace.changed",
            "key.created",
            "workspace.created",
        ]
        assert all(
            set(each) == {"id", "at", "actor", "action", "subject", "details"} for each in body["items"]
        )
        assert body["items"][3]["actor"] == f"key:{key['keyId']}"
        assert body["items"][4]["details"] == {"limits": {"running": 9}}
        assert body["items"][5]["subject"] == f"key:{key['keyId']}"
        first = (await api.get(f"{path}/activity?limit=2")).json()
        rest = (await api.get(f"{path}/activity?cursor={first['nextCursor']}")).json()
        assert first["items"] + rest["items"] == body["items"]


async def test_what_is_done_to_the_installation_is_told_to_the_platform(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await api.put("/workspace-tiers/PRO", {"running": 6})
        made = (await api.post("/keys", {"name": "second"})).json()
        await api.delete(f"/keys/{made['keyId']}")
        body = (await api.get("/admin/activity")).json()
        told = [(each["action"], each["subject"]) for each in body["items"]]
        assert told[:3] == [
            ("key.revoked", f"key:{made['keyId']}"),
            ("key.created", f"key:{made['keyId']}"),
            ("tier.saved", "tier:PRO"),
        ]
        assert len(told) == 4
        assert_problem(await api.get("/admin/activity", key=tenant.admin), 403, "forbidden")


async def test_reads_and_refusals_leave_none(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        path = f"/workspaces/{tenant.id}/activity"
        before = (await api.get(path)).json()
        await api.get(f"/workspaces/{tenant.id}", key=tenant.viewer)
        await api.patch(f"/workspaces/{tenant.id}", {"tier": "GOLD"})
        await api.patch(f"/workspaces/{tenant.id}", {})
        assert (await api.get(path)).json() == before


async def test_viewers_may_read_it_and_strangers_may_not(database_url: str) -> None:
    async with serving(database_url) as api:
        here, there = await api.workspace("a"), await api.workspace("b")
        path = f"/workspaces/{here.id}/activity"
        assert (await api.get(path, key=here.viewer)).status_code == 200
        assert_problem(await api.get(path, key=there.admin), 403, "foreign_workspace")
