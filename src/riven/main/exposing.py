"""What `/metrics` answers: what this process counts, what others reported, what the rows tell."""

import asyncio
import time

from riven.api.state import Exposition
from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.main.clock import machine_and_number, process_name
from riven.telemetry.exposition import CONTENT_TYPE, expose
from riven.telemetry.metrics import counted
from riven.views.metrics import Readings, read_metrics

FRESH = 2.0
"""Seconds for which rows are not read again, however many ask."""


class MetricsPage:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = asyncio.Lock()
        self._read = Readings({}, {})
        self._until = 0.0

    async def expose(self) -> Exposition:
        """Without a database, what this process counts."""
        async with self._lock:
            if time.monotonic() >= self._until:
                try:
                    async with self._database.read() as connection:
                        self._read = await read_metrics(connection, machine_and_number())
                except DatabaseError:
                    self._read = Readings({}, {})
                self._until = time.monotonic() + FRESH
            read = self._read
        processes = {**read.processes, process_name("api"): counted()}
        return Exposition(body=expose(processes, read.values), media_type=CONTENT_TYPE)
