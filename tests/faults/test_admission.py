"""Dispatchers race, are killed at any moment, and limits change meanwhile: never one admission too many, no slot lost.

Who counts is PostgreSQL itself: with every admission, whoever runs in the workspace by then. It waits for whoever admits
in the same workspace at the same time, which nobody should, and so counts what he has admitted too.
"""

import asyncio
import random
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from tests.maintenance.kit import Place, place
from tests.queue.lines import line_up, workspace

from riven.db.identity import new_id
from riven.maintenance.reconcile import Reconciler
from riven.maintenance.stale import recover_items
from riven.views.invariants import check_invariants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
LIMITS = (1, 1, 5, 5, 20, 20)
EACH = 150

OBSERVE = """
CREATE TABLE admissions (workspace_id uuid, execution_id uuid, running int, running_limit int);
CREATE FUNCTION observe() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext(NEW.workspace_id::text));
    INSERT INTO admissions
    SELECT NEW.workspace_id, NEW.id,
           (SELECT count(*) FROM workflow_executions e WHERE e.workspace_id = NEW.workspace_id AND e.status = 'RUNNING'),
           (SELECT w.running_limit FROM workspaces w WHERE w.id = NEW.workspace_id);
    RETURN NULL;
END $$;
CREATE TRIGGER observe AFTER UPDATE ON workflow_executions FOR EACH ROW
WHEN (NEW.status = 'RUNNING' AND OLD.status <> 'RUNNING') EXECUTE FUNCTION observe();
"""
UNFINISHED = "SELECT count(*) FROM workflow_executions WHERE finished_at IS NULL"
DRIVES = "SELECT EXISTS (SELECT FROM workflow_executions WHERE owner_id = $1)"
CHANGE = "UPDATE workspaces SET running_limit = $2 WHERE id = $1"


class Dispatchers:
    """Processes that are killed, and judged dead by those who killed them."""

    def __init__(self, url: str, here: Place) -> None:
        self._url = url
        self._here = here
        self._all: dict[UUID, asyncio.subprocess.Process] = {}

    async def start(self) -> None:
        owner = new_id()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.faults.dispatcher", self._url, str(owner),
            cwd=ROOT, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._all[owner] = process
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"ready\n"

    async def kill(self, dice: random.Random) -> None:
        """While it drives something, as long as there is anything to drive."""
        owner = dice.choice(list(self._all))
        process = self._all.pop(owner)
        while await self._here.value(UNFINISHED) and not await self._here.value(DRIVES, owner):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.001)
        process.kill()
        assert await process.wait() == -signal.SIGKILL
        await self._here.execute("UPDATE processes SET dead = true WHERE id = $1", owner)
        await recover_items(self._here.database, self._here.announcer, stale_after=300)
        await Reconciler(self._here.database, self._here.announcer).clear_hints()

    async def end(self) -> None:
        for process in self._all.values():
            process.kill()
            await process.wait()


@asynccontextmanager
async def dispatchers(url: str, here: Place, count: int):
    made = Dispatchers(url, here)
    try:
        await asyncio.gather(*[made.start() for _ in range(count)])
        yield made
    finally:
        await made.end()


@pytest.mark.parametrize("count", [2, 4])
async def test_racing_dispatchers_that_are_killed_admit_not_one_too_many_and_lose_no_slot(
    database_url, count
):
    dice = random.Random(count)
    async with place(database_url) as here:
        await here.execute(OBSERVE)
        workspaces = [await workspace(here.database, limit=limit) for limit in LIMITS]
        async with dispatchers(database_url, here, count) as racing:
            for at in workspaces:
                await line_up(here.database, at, EACH)
            here.announcer.announce(workspaces)
            deaths = changes = 0
            async with asyncio.timeout(240):
                while await here.value(UNFINISHED):
                    await asyncio.sleep(dice.random() * 0.1)
                    at = dice.choice(workspaces)
                    await here.execute(CHANGE, at, dice.choice((1, 2, 5, 20)))
                    here.announcer.announce((at,))
                    changes += 1
                    if deaths < 10 and changes % 2 == 0:
                        deaths += 1
                        await racing.kill(dice)
                        await racing.start()
        accepted = EACH * len(LIMITS)
        assert await here.value("SELECT count(*) FROM admissions WHERE running > running_limit") == 0
        assert await here.value("SELECT count(DISTINCT execution_id) FROM admissions") == accepted
        # A death takes no slot away: who was admitted is recovered with it, and never admitted again.
        assert await here.value("SELECT count(*) FROM admissions") == accepted
        assert await here.value("SELECT max(running) FROM admissions") > 5, "nobody raced"
        recovered = await here.value("SELECT count(*) FROM workflow_executions WHERE token > 1")
        assert deaths
        assert recovered, "no death has interrupted anything: this has shown nothing"
        assert (
            await here.value("SELECT count(*) FROM workflow_executions WHERE status = 'COMPLETED'")
            == accepted
        )
        assert await here.value("SELECT count(*) FROM execution_queue") == 0
        assert (
            await here.value("SELECT max(n) FROM (SELECT count(*) AS n FROM outbox GROUP BY execution_id) o")
            == 1
        )
        async with here.database.read() as connection:
            for each in await check_invariants(connection, 15):
                assert each.violations == 0, each.name
