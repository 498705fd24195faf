from tests.catalog.kit import Shop, opened

from riven.db.identity import new_id
from riven.intake.quotas import Quotas

_PENDING = """
INSERT INTO workflow_executions (id, workspace_id, workflow_definition_id, workflow_definition_version_id,
                                 workflow_name, version, principal)
SELECT gen_random_uuid(), $1, $1, $1, 'w', 1, 'test' FROM generate_series(1, $2)
"""


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


class Meter:
    """Counts how often it is counted."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.clock = Clock()
        self.quotas = Quotas(self.clock)
        self.counted = 0

    async def admit(self, count: int, limit: int | None) -> bool:
        workspace = self.shop.workspace_id
        if limit is not None:
            async with self.shop.database.read() as connection:
                before = self.quotas._counts.get(workspace)
                await self.quotas.refresh(connection, {workspace: (count, limit)})
                self.counted += self.quotas._counts[workspace] is not before
        return self.quotas.admit(workspace, count, limit)


async def test_the_limit_holds_exactly_for_one_process(database_url: str) -> None:
    async with opened(database_url) as shop:
        meter = Meter(shop)
        await shop.execute(_PENDING, shop.workspace_id, 2)
        assert await meter.admit(2, 5)
        assert await meter.admit(1, 5)
        await shop.execute(_PENDING, shop.workspace_id, 3)
        assert not await meter.admit(1, 5)
        assert await meter.admit(1, 6)  # a changed limit holds at once
        assert await meter.admit(10**9, None)


async def test_it_is_counted_once_while_the_limit_is_far(database_url: str) -> None:
    async with opened(database_url) as shop:
        meter = Meter(shop)
        for _ in range(100):
            assert await meter.admit(1, 1_000)
        assert meter.counted == 1
        meter.clock.time = 1.1
        assert await meter.admit(1, 1_000)
        assert meter.counted == 2


async def test_what_has_left_the_line_makes_room_at_once(database_url: str) -> None:
    async with opened(database_url) as shop:
        meter = Meter(shop)
        await shop.execute(_PENDING, shop.workspace_id, 3)
        assert not await meter.admit(1, 3)
        await shop.execute("UPDATE workflow_executions SET status = 'RUNNING'")
        meter.clock.time = 0.001
        assert await meter.admit(3, 3)


async def test_a_count_that_takes_long_is_kept_for_longer(database_url: str) -> None:
    async with opened(database_url) as shop:
        meter = Meter(shop)
        await shop.execute(_PENDING, shop.workspace_id, 20_000)
        assert not await meter.admit(1, 20_000)
        meter.clock.time = 0.01
        assert not await meter.admit(1, 20_000)
        assert meter.counted == 1
        meter.clock.time = 0.03
        assert not await meter.admit(1, 20_000)
        assert meter.counted == 2


async def test_no_more_is_counted_than_matters(database_url: str) -> None:
    async with opened(database_url) as shop:
        meter = Meter(shop)
        await shop.execute(_PENDING, shop.workspace_id, 50)
        assert not await meter.admit(1, 3)
        assert meter.quotas._counts[shop.workspace_id].pending == 4


async def test_several_workspaces_are_counted_at_once_and_forgotten_in_the_end(database_url: str) -> None:
    async with opened(database_url) as shop:
        quotas = Quotas()
        workspaces = [new_id() for _ in range(10_001)]
        async with shop.database.read() as connection:
            await quotas.refresh(connection, dict.fromkeys(workspaces, (1, 5)))
        assert not quotas.admit(workspaces[-1], 6, 5)
        assert workspaces[0] not in quotas._counts
        assert quotas.admit(workspaces[0], 6, 5)  # a soft limit: what is not known is admitted
