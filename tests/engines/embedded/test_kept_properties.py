"""Whatever fails, and however often: with enough retries a run ends as if nothing had failed, and repeats no success."""

import asyncio
from collections import Counter
from random import Random

import pytest
from tests.engines.embedded.workers import Worker, installation, worker
from tests.intake.steering import Steering

from riven.nodes.function import function
from riven.nodes.functions import Functions
from riven.queue.recover import hand_back

NO_RETRY = "retry: {maxAttempts: 1}"


class Luck:
    """The function `test.work`: fails as often as the dice say, and counts what succeeded."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self._left: dict[str, int] = {}
        self.done = Counter[str]()
        self.failures = 0

        @function(name="test.work")
        async def work(name: str) -> str:
            await asyncio.sleep(0)
            left = self._left.setdefault(name, self._dice.choice([0, 0, 0, 1, 1, 2]))
            if left:
                self._left[name] = left - 1
                self.failures += 1
                raise RuntimeError(name)
            self.done[name] += 1
            return name

        self.functions = Functions(work)


def document(dice: Random) -> str:
    """A few nodes in random order, some of them loops, behind each other at random."""
    nodes: list[str] = []
    for number in range(dice.randrange(3, 9)):
        key = f"n{number}"
        needs = [f"n{before}" for before in range(number) if dice.random() < 0.4]
        nodes.append(f"  {key}: {{needs: [{', '.join(needs)}], {_body(dice, key)}}}")
    policy = dice.choice(["fail_fast", "finish_branches"])
    return f"name: chance\nonFailure: {policy}\nnodes:\n" + "\n".join(nodes)


def _body(dice: Random, key: str) -> str:
    match dice.randrange(5):
        case 0:
            count, concurrency = dice.randrange(5), dice.randrange(1, 4)
            items = ", ".join(f'"{key}-{index}"' for index in range(count))
            one, two = _work("{{ item }}"), _work('{{ item + "y" }}')
            inner = f"x: {{{one}}}, y: {{needs: [x], {two}}}"
            return (
                f"type: for_each, with: {{items: [{items}], concurrency: {concurrency}}}, "
                f'body: {{nodes: {{{inner}}}, output: "{{{{ steps.y.output }}}}"}}'
            )
        case 1:
            rounds = dice.randrange(1, 4)
            name = f'{{{{ "{key}-" + string(iteration.index) }}}}'
            condition = f"while: iteration.index < {rounds}"
            if dice.random() < 0.5:
                condition = f"until: iteration.index + 1 >= {rounds}"
            return f"type: repeat, with: {{{condition}}}, body: {{nodes: {{x: {{{_work(name)}}}}}}}"
        case _:
            return _work(key)


def _work(name: str) -> str:
    return f"type: python, {NO_RETRY}, with: {{function: test.work, args: {{name: '{name}'}}}}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
async def test_enough_retries_complete_a_run_and_repeat_no_success(database_url, seed):
    dice, luck = Random(seed), Luck(seed)
    async with installation(database_url, functions=luck.functions) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(document(dice))
        runs = 1
        while True:
            row = await here.until(execution_id, "COMPLETED", "FAILED")
            if row["status"] == "COMPLETED":
                break
            assert row["error_type"] == "EXECUTION_ERROR", row["error_message"]
            await steering.retry(execution_id)
            runs += 1
            assert runs < 200
        assert row["run"] == runs
        assert set(luck.done.values()) <= {1}, luck.done
        last = {}
        for row in sorted(
            (await here.nodes(execution_id)).values(), key=lambda row: (row["run"], row["attempt"])
        ):
            last[row["path"]] = row["settled"] or row["status"]
        assert set(last.values()) == {"COMPLETED"}, last


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_crashes_between_do_not_change_that(database_url, seed):
    """An attempt that a crash interrupts is repeated; what was recorded as completed is not."""
    dice, luck = Random(1_000 + seed), Luck(1_000 + seed)
    async with installation(database_url, functions=luck.functions) as here:
        steering = Steering(here)
        execution_id = await here.start(document(dice))
        for turn in range(200):
            at_work = Worker(here)
            if turn % 3 != 2:
                await asyncio.sleep(dice.random() / 30)
                await at_work.freeze()
                async with here.database.transaction() as connection:
                    await connection.execute("UPDATE workspaces SET idle = false")
                    await hand_back(connection, at_work.process.id)
            else:
                row = await here.until(execution_id, "COMPLETED", "FAILED")
                await at_work.stop()
                if row["status"] == "COMPLETED":
                    break
                await steering.retry(execution_id)
            if (await here.execution(execution_id))["status"] == "FAILED":
                await steering.retry(execution_id)
        assert row["status"] == "COMPLETED"
        rows = await here.rows(
            "SELECT path, count(*) AS times FROM workflow_execution_nodes"
            " WHERE status = 'COMPLETED' AND seq IS NOT NULL AND type = 'python' GROUP BY path"
        )
        assert {each["times"] for each in rows} <= {1}
