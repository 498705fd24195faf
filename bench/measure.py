"""One peer, measured in a process of its own: `python -m bench.measure riven --out figures.jsonl --only W1,W4`.

Runs with the Python that has the peer's libraries; of riven's own modules it needs none.
"""

import argparse
import asyncio
import importlib
from pathlib import Path

import uvloop
from bench.figures import Recorder
from bench.workloads import Bench, Plan

SIZES = {"full": Plan(), "quick": Plan().quick(), "tiny": Plan().tiny()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peer", help="a module of bench.peers")
    parser.add_argument("options", nargs="*", help="what its `opened` takes")
    parser.add_argument("--out", type=Path, required=True, help="file to append figures to")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--only", default="", help="workloads, by comma")
    arguments = parser.parse_args()
    uvloop.run(measure(arguments))


async def measure(arguments: argparse.Namespace) -> None:
    only = set(arguments.only.split(",")) - {""}
    module = importlib.import_module(f"bench.peers.{arguments.peer}")
    async with module.opened(*arguments.options) as peer:
        bench = Bench(peer, SIZES[arguments.size], Recorder(arguments.out))
        async with asyncio.timeout(1_800):
            await bench.check()
            await bench.run(lambda workload: not only or workload in only)


if __name__ == "__main__":
    main()
