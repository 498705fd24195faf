from tests.maintenance.kit import place

from riven.db.identity import new_id
from riven.maintenance.outbox import deliver


async def test_what_nobody_wanted_to_be_told_of_goes_after_an_hour(database_url):
    async with place(database_url) as here:
        for kind, minutes in (("old", 61), ("young", 59)):
            await here.execute(
                "INSERT INTO outbox (workspace_id, execution_id, kind, payload, available_at)"
                " VALUES ($1, $1, $2, '{}', now() - make_interval(mins => $3))",
                new_id(), kind, minutes,
            )  # fmt: skip
        await deliver(here.database)
        assert await here.value("SELECT string_agg(kind, ',') FROM outbox") == "young"
