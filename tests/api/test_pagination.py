import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.api.harness import assert_problem, serving

from riven.api.pagination import decode_id
from riven.api.problems import ProblemError


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_text_is_more_than_a_bad_cursor(text: str) -> None:
    with pytest.raises(ProblemError) as refused:
        decode_id("kind", text)
    assert refused.value.kind.status == 400


@pytest.mark.parametrize(
    "cursor",
    [
        f"other.{'a' * 32}",
        "kind.",
        f"kind.{'a' * 31}",
        f"kind.{'a' * 33}",
        f"kind.{'g' * 32}",
        f"kind.{'a' * 32}\n",
        "A" * 2_000,
        "é",
    ],
)
def test_cursors_of_other_lists_and_broken_ones_are_refused(cursor: str) -> None:
    with pytest.raises(ProblemError):
        decode_id("kind", cursor)


async def test_pages_hold_everything_once_the_newest_first(database_url: str) -> None:
    async with serving(database_url) as api:
        for number in range(7):
            await api.post("/workspaces", {"name": str(number), "tier": "FREE"})
        seen: list[str] = []
        cursor, pages = None, 0
        while True:
            query = {"limit": "3"} if cursor is None else {"limit": "3", "cursor": cursor}
            body = (await api.get("/workspaces", params=query)).json()
            seen += [each["name"] for each in body["items"]]
            pages += 1
            cursor = body["nextCursor"]
            if cursor is None:
                break
        assert seen == ["6", "5", "4", "3", "2", "1", "0"]
        assert pages == 3
        exact = (await api.get("/workspaces?limit=7")).json()
        assert exact["nextCursor"] is None


async def test_a_limit_is_1_to_200(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        for limit in ["0", "201", "-1", "1.5", "x"]:
            with subtests.test(limit=limit):
                assert_problem(await api.get(f"/workspaces?limit={limit}"), 422, "invalid_request", "limit")
                for good in ("1", "200"):
                    assert (await api.get(f"/workspaces?limit={good}")).status_code == 200


async def test_a_bad_cursor_is_400(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        keys = (await api.get(f"/workspaces/{tenant.id}/keys?limit=1")).json()
        assert keys["nextCursor"] is not None
        for cursor in ("x", "", keys["nextCursor"], "%00", "a" * 5_000):
            assert_problem(await api.get(f"/workspaces?cursor={cursor}"), 400, "bad_cursor")
