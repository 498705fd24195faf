"""Report what a process has counted, so that the API can show it: every process is seen in one place."""

import asyncio
from typing import Any

from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.main.clock import machine_and_number
from riven.queue.lease import Process, report_metrics
from riven.telemetry.metrics import counted

INTERVAL = 2.0


class MetricsReporter:
    """Writes nothing while nothing changes."""

    def __init__(self, database: Database, process: Process, interval: float = INTERVAL) -> None:
        self._database = database
        self._process = process
        self._interval = interval
        self._reported: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="riven-report")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            now = {"process": machine_and_number(), "counted": counted()}
            if now != self._reported:
                try:
                    if await report_metrics(self._database, self._process, now):
                        self._reported = now
                except DatabaseError:
                    continue  # the loop that does the work says so
