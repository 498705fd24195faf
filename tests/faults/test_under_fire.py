"""Workers are killed and frozen again and again, and everybody steers: whoever looks finds every invariant kept."""

import asyncio
import contextlib
import random
import signal
from collections import Counter
from uuid import UUID

import pytest
from tests.engines.embedded.workers import Installation, installation
from tests.intake.steering import Steering
from tests.main.running import Host, Running, host

from riven.tenancy.errors import WrongStateError
from riven.views.invariants import check_invariants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LIMIT = 4
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


async def steer(
    here: Installation, steering: Steering, execution_id: UUID, dice: random.Random
) -> Counter[str]:
    """Anything at any moment; afterwards whatever it takes until it has completed."""
    done: Counter[str] = Counter()

    async def call(name: str) -> None:
        with contextlib.suppress(WrongStateError):
            await (
                steering.signal(execution_id, "go")
                if name == "signal"
                else getattr(steering, name)(execution_id)
            )
            done[name] += 1

    for _ in range(8):
        await asyncio.sleep(dice.random() * 0.6)
        await call(dice.choice(("pause", "resume", "signal", "cancel", "retry", "pause", "resume")))
    async with asyncio.timeout(120):
        while (status := (await here.execution(execution_id))["status"]) != "COMPLETED":
            for name in ("retry",) if status in ("FAILED", "CANCELED") else ("resume", "signal"):
                await call(name)
            await asyncio.sleep(0.5)
    return done


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
        steered = [
            steer(here, steering, execution_id, random.Random(number))
            for number, execution_id in enumerate(executions)
        ]
        calls = sum(await asyncio.gather(*steered), Counter())
        await disturbing
        assert not watching.done(), watching.exception()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        rows = [await here.execution(each) for each in executions]
        assert [(row["status"], row["output"]) for row in rows] == [
            ("COMPLETED", f"{n}-c") for n in range(COUNT)
        ]
        assert {name: count for name, count in watch.broken.items() if count} == {}
        assert 1 < watch.most <= LIMIT
        assert min(calls[call] for call in ("pause", "resume", "cancel", "retry", "signal")) > 0
        assert {deed for deed in on.deeds if deed.startswith("done")} == DEEDS
        assert max(row["token"] for row in rows) > 2, "nothing was ever interrupted"
        assert await here.rows("SELECT * FROM execution_queue") == []
        told = await here.rows("SELECT execution_id, count(*) AS n FROM outbox GROUP BY 1")
        ends = {each["execution_id"]: each["n"] for each in told}
        assert ends == {row["id"]: row["run"] for row in rows}, "each run has ended once"
