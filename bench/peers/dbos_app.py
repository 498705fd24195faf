"""The workloads as workflows of DBOS, and a worker: `python -m bench.peers.dbos_app DATABASE_URL POLL`."""

import asyncio
import signal
import sys
from typing import Any

from bench.shapes import layered
from dbos import DBOS


@DBOS.step()
async def noop(x: int) -> dict[str, int]:
    return {"x": x}


@DBOS.step()
async def snooze(x: int) -> dict[str, int]:
    await asyncio.sleep(0.1)
    return {"x": x}


@DBOS.step()
async def node(layer: int, place: int, above: list[Any]) -> dict[str, int]:
    return {"l": layer, "i": place, "n": len(above)}


@DBOS.workflow()
async def noop1() -> dict[str, int]:
    return await noop(1)


@DBOS.workflow()
async def chain10() -> dict[str, int]:
    result = {"x": 0}
    for _ in range(10):
        result = await noop(result["x"] + 1)
    return result


@DBOS.workflow()
async def fan50() -> dict[str, int]:
    root = await noop(0)
    fan = await asyncio.gather(*[noop(root["x"] + place) for place in range(50)])
    return await noop(sum(each["x"] for each in fan))


@DBOS.workflow()
async def sleepfan() -> dict[str, int]:
    return {"n": len(await asyncio.gather(*[snooze(place) for place in range(20)]))}


@DBOS.workflow()
async def bigdag(layers: int, width: int) -> dict[str, int]:
    """Layer by layer: steps have to be asked for in the same order every time."""
    done: list[Any] = []
    for layer, places in enumerate(layered(layers, width)):
        done = await asyncio.gather(
            *[node(layer, place, [done[each] for each in above]) for place, above in enumerate(places)]
        )
    return {"n": layers * width, "last": len(done)}


def main(url: str, poll: float) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "log_level": "WARNING",
            "enable_otlp": False,
            "application_version": "1",
            "sys_db_pool_size": 20,
        }
    )
    DBOS.launch()
    DBOS.register_queue("q", polling_interval_sec=poll)
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
