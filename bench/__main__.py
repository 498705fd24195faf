"""riven, its peers and the raw limits on this machine, in one run: `make bench`.

Each is measured by the same loader in a process of its own, one after the other; who is not installed is left out. With
`--engine temporal`, riven on Temporal beside the bare SDK on the same server.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.figures import read_figures
from bench.install import installed, python_of, restate_server
from bench.machine import load, machine
from bench.postgres import postgres
from bench.product import ROOT, data_directory, riven_dev
from bench.record import beside, record, tables
from bench.report import Results

PEERS = ("riven", "guarantees", "restate", "dbos", "temporal-local", "temporal-activity", "limits")

ON_TEMPORAL = ("W1", "W2", "W3", "W4", "W5", "W6")


class Run:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self._size: str = arguments.size
        self._only: str = arguments.only
        self._admissions: int | None = arguments.admissions
        self._out: Path = arguments.out
        self.failed: list[str] = []

    async def embedded(self, peers: Sequence[str]) -> None:
        for name in peers:
            await self._measure(name)

    async def temporal(self) -> None:
        """Workload by workload, first one and then the other: the server slows down with what it has to remember."""
        if not self._there("temporal"):
            return
        with riven_dev("--engine", "temporal") as product:
            state = product.state
            pid = str(state["pids"]["temporal"])
            pair = [
                (sys.executable, "riven_temporal", str(product.data)),
                (python_of("temporal"), "temporal", "activity", state["temporalAddress"], pid),
            ]
            for workload in self._only.split(",") if self._only else ON_TEMPORAL:
                for arguments in pair:
                    await self._child(arguments[0], "bench.measure", *arguments[1:], "--only", workload)
                pair.reverse()

    async def _measure(self, name: str) -> None:
        match name:
            case "riven":
                await self._peer(sys.executable, name)
            case "guarantees":
                size = [] if self._admissions is None else ["--admissions", str(self._admissions)]
                await self._child(sys.executable, "bench.guarantees", "--only", self._only, *size)
            case "restate":
                if self._there(name) and restate_server() is not None:
                    await self._peer(python_of(name), name)
            case "dbos":
                if self._there(name):
                    async with postgres() as server:
                        database = await server.new_database("dbos")
                        await self._peer(python_of(name), name, database, str(server.pid))
            case "limits":
                async with postgres() as server:
                    await self._child(sys.executable, "bench.limits", server.url)
            case _:
                if self._there("temporal"):
                    await self._peer(python_of("temporal"), "temporal", name.partition("-")[2])

    def _there(self, name: str) -> bool:
        there = installed(name)
        if not there:
            print(f"{name} is left out: `make bench-peers` installs it")
        return there

    async def _peer(self, python: str | Path, *arguments: str) -> None:
        await self._child(python, "bench.measure", *arguments, "--only", self._only)

    async def _child(self, python: str | Path, module: str, *arguments: str) -> None:
        called = arguments[0] if module == "bench.measure" else module.rpartition(".")[2]
        print(f"\n{called}", flush=True)
        command = [str(python), "-m", module, *arguments, "--out", str(self._out), "--size", self._size]
        child = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
        if await child.wait():
            self.failed.append(called)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=("full", "quick", "tiny"), default="full")
    parser.add_argument("--engine", choices=("embedded", "temporal"), default="embedded")
    parser.add_argument("--only", default="", help="workloads, by comma: W1,W4")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"by comma, of {', '.join(PEERS)}")
    parser.add_argument("--admissions", type=int, help="executions of W9, such as 1000000")
    parser.add_argument(
        "--out", type=Path, default=data_directory() / "figures.jsonl", help="file for figures"
    )
    parser.add_argument("--record", action="store_true", help="put the results into the documentation")
    arguments = parser.parse_args()
    arguments.out.write_text("", encoding="utf-8")
    about = machine()
    bench = Run(arguments)
    temporal = arguments.engine == "temporal"
    asyncio.run(bench.temporal() if temporal else bench.embedded(arguments.peers.split(",")))
    about |= {"load": f"{about['load']} before, {load()} after", "size": arguments.size}
    beside(arguments.out).write_text(json.dumps(about), encoding="utf-8")
    print(f"\n{'; '.join(f'{key} {value}' for key, value in about.items())}")
    for text in tables(Results(read_figures(arguments.out))).values():
        print(f"\n{text}")
    if bench.failed:
        print(f"\nfailed: {', '.join(bench.failed)}")
        return 1
    if arguments.record:
        record(arguments.out, about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
