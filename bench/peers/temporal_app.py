"""The workloads as a workflow of the bare Temporal SDK, and a worker: `python -m bench.peers.temporal_app ADDRESS QUEUE`."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from bench.shapes import layered
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

LIMIT = timedelta(seconds=60)


@activity.defn
async def noop(x: int) -> dict[str, int]:
    return {"x": x}


@activity.defn
async def snooze(x: int) -> dict[str, int]:
    await asyncio.sleep(0.1)
    return {"x": x}


@activity.defn
async def node(given: list[Any]) -> dict[str, int]:
    layer, place, above = given
    return {"l": layer, "i": place, "n": len(above)}


@workflow.defn
class Bench:
    @workflow.run
    async def run(self, wish: dict[str, Any]) -> dict[str, Any]:
        execute = workflow.execute_local_activity if wish["local"] else workflow.execute_activity

        def go(function: Callable[..., Awaitable[Any]], given: Any) -> Awaitable[Any]:  # noqa: ANN401
            return execute(function, given, start_to_close_timeout=LIMIT)

        match wish["kind"]:
            case "noop1":
                return await go(noop, 1)
            case "chain10":
                result = {"x": 0}
                for _ in range(10):
                    result = await go(noop, result["x"] + 1)
                return result
            case "fan50":
                root = await go(noop, 0)
                fan = await asyncio.gather(*[go(noop, root["x"] + place) for place in range(50)])
                return await go(noop, sum(each["x"] for each in fan))
            case "sleepfan":
                return {"n": len(await asyncio.gather(*[go(snooze, place) for place in range(20)]))}
            case "bigdag":
                return await self._bigdag(go, wish["layers"], wish["width"])
            case other:
                raise ValueError(other)

    async def _bigdag(self, go: Callable[..., Awaitable[Any]], layers: int, width: int) -> dict[str, Any]:
        """A node waits for its own parents alone."""

        async def one(layer: int, place: int, above: list[int], before: list[asyncio.Task[Any]]) -> Any:  # noqa: ANN401
            return await go(node, [layer, place, [await before[each] for each in above]])

        done: list[asyncio.Task[Any]] = []
        for layer, places in enumerate(layered(layers, width)):
            done = [asyncio.create_task(one(layer, place, above, done)) for place, above in enumerate(places)]
        return {"n": layers * width, "last": len(await asyncio.gather(*done))}


async def main(address: str, queue: str) -> None:
    client = await Client.connect(address)
    async with Worker(
        client,
        task_queue=queue,
        workflows=[Bench],
        activities=[noop, snooze, node],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_concurrent_activities=500,
        max_concurrent_local_activities=500,
        max_concurrent_workflow_tasks=100,
        max_cached_workflows=2_000,
    ):
        print("ready", flush=True)
        await asyncio.Future()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
