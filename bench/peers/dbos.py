"""DBOS: a client that enqueues, and one process that dequeues and works, on a PostgreSQL that is given."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, ClassVar

import psycopg
from bench.peer import Peer
from bench.product import running
from dbos import DBOSClient

LOOK_EVERY = 0.02
POLL = 0.02


class Dbos(Peer):
    """One run is awaited by its handle, many by the number of those that have ended, looked at every 20 ms."""

    name = "dbos"
    version = version("dbos")
    settings: ClassVar = {"workers": 1, "queue_poll_s": POLL, "result_poll_s": 0.01, "pool": 20}

    def __init__(self, client: DBOSClient, url: str, parts: dict[str, list[int]]) -> None:
        self.parts = parts
        self._client, self._url = client, url

    async def start(self, kind: str, **options: int) -> Any:  # noqa: ANN401 - DBOS's own
        wish = {"workflow_name": kind, "queue_name": "q", "app_version": "1"}
        return await self._client.enqueue_async(wish, **options)

    async def wait(self, run: Any) -> Any:  # noqa: ANN401
        return await run.get_result(polling_interval_sec=0.01)

    async def wait_all(self, runs: list[Any]) -> None:
        ids = [run.get_workflow_id() for run in runs]
        ended = (
            "SELECT count(*) FROM dbos.workflow_status WHERE workflow_uuid = ANY(%s) AND status = 'SUCCESS'"
        )
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            while True:
                row = await (await connection.execute(ended, (ids,))).fetchone()
                if row is not None and row[0] == len(ids):
                    return
                await asyncio.sleep(LOOK_EVERY)


@asynccontextmanager
async def opened(url: str, postgres_pid: str) -> AsyncIterator[Dbos]:
    command = (sys.executable, "-m", "bench.peers.dbos_app", url, str(POLL))
    with running(*command, stdout=subprocess.PIPE, text=True) as worker:
        if worker.stdout is None or worker.stdout.readline().strip() != "ready":
            raise RuntimeError("the worker of DBOS is not ready")
        client = DBOSClient(system_database_url=url)
        try:
            yield Dbos(client, url, {"postgres": [int(postgres_pid)], "worker": [worker.pid]})
        finally:
            client.destroy()
