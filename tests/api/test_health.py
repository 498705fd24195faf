from tests.api.harness import assert_problem, serving

from riven.api.state import Exposition


async def test_a_process_that_lives_says_so_without_a_key(database_url: str) -> None:
    async with serving(database_url) as api:
        answer = await api.get("/healthz", root=True, key=None)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_it_is_ready_when_the_database_its_schema_and_the_engine_are(database_url: str) -> None:
    async def engine() -> str | None:
        return None

    async with serving(database_url, checks={"engine": engine}) as api:
        answer = await api.get("/readyz", root=True, key=None)
        assert answer.status_code == 200
        assert answer.json() == {
            "status": "ready",
            "checks": {"database": "ok", "schema": "ok", "engine": "ok"},
        }


async def test_it_names_what_is_not_ready(database_url: str) -> None:
    async def engine() -> str | None:
        return "no worker was seen for 30 s"

    async with serving(database_url, checks={"engine": engine}) as api:
        problem = assert_problem(await api.get("/readyz", root=True, key=None), 503, "unavailable", "engine")
        assert "no worker was seen" in problem["errors"][0]["message"]
        await api.database.close()
        api.database._options["dsn"] = "postgresql://nobody@127.0.0.1:1/none"
        away = await api.get("/readyz", root=True, key=None)
        assert_problem(away, 503, "unavailable", "database", "schema", "engine")
        assert (await api.get("/healthz", root=True, key=None)).status_code == 200


async def test_a_database_without_the_schema_is_not_ready_until_it_is_migrated(database_url: str) -> None:
    async with serving(database_url) as api:
        async with api.database.transaction() as connection:
            await connection.execute("ALTER TABLE alembic_version RENAME TO hidden")
        problem = assert_problem(await api.get("/readyz", root=True), 503, "unavailable", "schema")
        assert "riven migrate" in problem["detail"]
        async with api.database.transaction() as connection:
            await connection.execute("ALTER TABLE hidden RENAME TO alembic_version")
        assert (await api.get("/readyz", root=True)).status_code == 200


async def test_metrics_are_what_the_process_exposes(database_url: str) -> None:
    async def expose() -> Exposition:
        return Exposition(body=b"riven_up 1\n", media_type="text/plain; version=0.0.4; charset=utf-8")

    async with serving(database_url, expose_metrics=expose) as api:
        answer = await api.get("/metrics", root=True, key=None)
        assert (answer.status_code, answer.text) == (200, "riven_up 1\n")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
