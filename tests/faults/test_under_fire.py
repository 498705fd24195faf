"""Workers are killed and frozen again and again under load, and whoever looks, at whatever moment, finds every invariant kept."""

import asyncio
import random
import signal
from collections import Counter

import pytest
from tests.engines.embedded.workers import Installation, installation
from tests.intake.steering import Steering
from tests.main.running import Host, Running, host

from riven.tenancy.errors import WrongStateError
from riven.views.invariants import check_invariants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LIMIT = 6
CHAIN = """
name: chain
nodes:
  a: {type: python, with: {function: test.deed, args: {name: "{{ input.n }}-a", seconds: 0.05}}}
  each:
    type: for_each
    needs: [a]
    with: {items: [0, 1, 2]}
    body: {nodes: {x: {type: python, with: {function: test.deed, args: {name: "{{ input.n }}-{{ string(item) }}"}}}}}
  hear: {type: signal, needs: [each], with: {name: go}}
  nap: {type: wait, needs: [hear], with: {for: 50ms}}
  c: {type: python, needs: [nap], with: {function: test.deed, args: {name: "{{ input.n }}-c"}}}
output: "{{ steps.c.output }}"
"""
COUNT = 40
DEEDS = {f"done {n}-{what}" for n in range(COUNT) for what in ("a", "0", "1", "2", "c")}
RUNNING = "SELECT count(*) AS n FROM workflow_executions WHERE status = 'RUNNING'"
UNFINISHED = "SELECT count(*) AS n FROM workflow_executions WHERE finished_at IS NULL"


class Watch:
    """Looks all the time."""

    def __init__(self, here: Installation) -> None:
        self._here = here
        self.looks = 0
        self.broken: Counter[str] = Counter()
        self.most = 0

    async def look(self) -> None:
        while True:
            async with self._here.database.read() as connection:
                for each in await check_invariants(connection, 1.5):
                    self.broken[each.name] += each.violations
            self.most = max(self.most, (await self._here.row(RUNNING))["n"])
            self.looks += 1
            await asyncio.sleep(0.01)


async def disturb(on: Host, workers: list[Running], dice: random.Random, left: list[str]) -> None:
    """Kill one, or freeze it for longer than its lease, and start another, as long as there is anything left to do."""
    while left:
        await asyncio.sleep(dice.random() * 1.5)
        victim = workers.pop(0)
        if left.pop() == "kill":
            victim.send(signal.SIGKILL)
            await victim.ended()
            workers.append(await on.worker())
        else:
            victim.send(signal.SIGSTOP)
            await asyncio.sleep(2.5)
            victim.send(signal.SIGCONT)
            workers.append(victim)


async def test_whoever_looks_finds_every_invariant_kept(database_url, tmp_path):
    dice = random.Random(7)
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        async with here.database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET running_limit = $1", LIMIT)
        await on.maintenance()
        workers = [await on.worker(), await on.worker()]
        watch, steering = Watch(here), Steering(here)
        watching = asyncio.create_task(watch.look())
        definition = await here.publish(CHAIN)
        executions = []
        disturbing = asyncio.create_task(
            disturb(on, workers, dice, ["kill", "freeze", "kill", "kill", "freeze", "kill"])
        )
        for number in range(COUNT):
            executions.append(await here.start_version(definition, input={"n": str(number)}))
            await asyncio.sleep(0.05)
        # A signal at any moment of each: before, while and after it waits for it.
        for execution_id in executions:
            await asyncio.sleep(dice.random() * 0.1)
            await steering.signal(execution_id, "go")
        await disturbing
        async with asyncio.timeout(120):
            while (await here.row(UNFINISHED))["n"]:
                assert not watching.done(), watching.exception()
                await asyncio.sleep(0.05)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        rows = [await here.execution(each) for each in executions]
        assert [(row["status"], row["output"]) for row in rows] == [
            ("COMPLETED", f"{n}-c") for n in range(COUNT)
        ]
        assert {name: count for name, count in watch.broken.items() if count} == {}
        assert watch.most == LIMIT
        assert {deed for deed in on.deeds if deed.startswith("done")} == DEEDS
        assert max(row["token"] for row in rows) > 2, "nothing was ever interrupted"
        assert await here.rows("SELECT * FROM execution_queue") == []
        told = await here.rows("SELECT count(*) AS n FROM outbox GROUP BY execution_id")
        assert [each["n"] for each in told] == [1] * COUNT
        with pytest.raises(WrongStateError):
            await steering.signal(executions[0], "go")
