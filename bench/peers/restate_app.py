"""The workloads as handlers of Restate: every node is one journalled step. Served by hypercorn."""

import asyncio
from typing import Any

import restate
from bench.shapes import layered
from restate import Context, Service

service = Service("Bench")


async def noop(x: int) -> dict[str, int]:
    return {"x": x}


async def snooze(x: int) -> dict[str, int]:
    await asyncio.sleep(0.1)
    return {"x": x}


async def node(layer: int, place: int, above: list[Any]) -> dict[str, int]:
    return {"l": layer, "i": place, "n": len(above)}


@service.handler()
async def noop1(context: Context, _: dict[str, int]) -> dict[str, int]:
    return await context.run_typed("n", noop, x=1)


@service.handler()
async def chain10(context: Context, _: dict[str, int]) -> dict[str, int]:
    result = {"x": 0}
    for _place in range(10):
        result = await context.run_typed("n", noop, x=result["x"] + 1)
    return result


@service.handler()
async def fan50(context: Context, _: dict[str, int]) -> dict[str, int]:
    root = await context.run_typed("n", noop, x=0)
    fan = [context.run_typed("n", noop, x=root["x"] + place) for place in range(50)]
    await restate.gather(*fan)
    return await context.run_typed("n", noop, x=sum([(await each)["x"] for each in fan]))


@service.handler()
async def sleepfan(context: Context, _: dict[str, int]) -> dict[str, int]:
    fan = [context.run_typed("n", snooze, x=place) for place in range(20)]
    await restate.gather(*fan)
    return {"n": len(fan)}


@service.handler()
async def bigdag(context: Context, options: dict[str, int]) -> dict[str, int]:
    """Layer by layer: steps have to be asked for in the same order every time."""
    done: list[Any] = []
    for layer, places in enumerate(layered(options["layers"], options["width"])):
        steps = [
            context.run_typed("n", node, layer=layer, place=place, above=[done[each] for each in above])
            for place, above in enumerate(places)
        ]
        await restate.gather(*steps)
        done = [await step for step in steps]
    return {"n": options["layers"] * options["width"], "last": len(done)}


app = restate.app([service])
