"""What the machine gives at most: PostgreSQL and HTTP alone, doing the least that a queue of executions needs.

`python -m bench.limits DATABASE_URL --out figures.jsonl`. PostgreSQL is driven by its own pgbench, HTTP by the loader of
the peers, so that its figure without a database is the most that any peer could show here.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import uvloop
from bench.exchange import Exchange
from bench.figures import Figure, Recorder, Setting
from bench.peer import CLIENTS
from bench.postgres import DURABLE
from bench.processes import Usage
from bench.product import ENVIRONMENT, free_port, running, until_answered

from riven.devstack.binaries import find_binaries

SCHEMA = """
DROP TABLE IF EXISTS q;
CREATE TABLE q (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant int NOT NULL,
    state text NOT NULL DEFAULT 'ready',
    claimed timestamptz,
    payload jsonb NOT NULL
);
CREATE INDEX q_ready ON q (id) WHERE state = 'ready';
"""
PAYLOAD = '{"workflow": "noop", "input": {"a": 1, "b": "hello"}}'
ROWS = "INSERT INTO q (tenant, payload) SELECT g % 100, '{payload}' FROM generate_series(1, {count}) g;\n"
CLAIM = """UPDATE q SET state = 'running', claimed = now() WHERE id IN (
  SELECT id FROM q WHERE state = 'ready' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT {count}) RETURNING id, payload;
"""
LIFE = """BEGIN;
SELECT id FROM q WHERE state = 'ready' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1 \\gset
UPDATE q SET state = 'running', claimed = now() WHERE id = :id;
COMMIT;
UPDATE q SET state = 'done' WHERE id = :id;
"""
LIVES = 100_000
"""More than can be lived in the time: a script of pgbench that finds nothing fails."""


@dataclass(frozen=True, slots=True)
class Size:
    repeats: int
    seconds: int
    backlog: int
    requests: int


SIZES = {
    "full": Size(3, 3, 400_000, 8_000),
    "quick": Size(1, 2, 200_000, 3_000),
    "tiny": Size(1, 1, 1_000, 40),
}


class Limits:
    def __init__(self, url: str, size: Size, recorder: Recorder) -> None:
        self._url, self._size, self._recorder = url, size, recorder

    async def run(self) -> None:
        insert = ROWS.format(payload=PAYLOAD, count=1)
        await self._bench("insert + commit/s, 1 connection", insert, clients=1)
        await self._bench("insert + commit/s, 16 connections", insert)
        await self._bench("inserted rows/s, 100 a commit", ROWS.format(payload=PAYLOAD, count=100), rows=100)
        await self._claims()
        await self._bench("claim + finish/s, 16 connections", LIFE, backlog=max(self._size.backlog, LIVES))
        for name, path in {
            "POST/s without a database": "/noop",
            "POST/s, one insert each": "/executions",
        }.items():
            await self._http(name, path)

    async def _bench(
        self, name: str, script: str, *, clients: int = 16, rows: int = 1, backlog: int = 0
    ) -> None:
        rounds = []
        for _ in range(self._size.repeats):
            await self._table(backlog)
            rounds.append(await self._pgbench(script, clients) * rows)
        self._add("postgres", name, rounds)

    async def _claims(self) -> None:
        """By the rows that were claimed, and the time from the first to the last: the backlog may run out."""
        rounds = []
        for _ in range(self._size.repeats):
            await self._table(self._size.backlog)
            await self._pgbench(CLAIM.format(count=100), 16)
            span = "SELECT count(*) / nullif(extract(epoch FROM max(claimed) - min(claimed)), 0)::float8 FROM q WHERE state = 'running'"
            async with self._connected() as connection:
                rounds.append(await connection.fetchval(span) or 0.0)
        self._add("postgres", "claimed rows/s, 100 a commit", rounds)

    async def _table(self, backlog: int) -> None:
        async with self._connected() as connection:
            await connection.execute(SCHEMA)
            if backlog:
                await connection.execute(ROWS.format(payload=PAYLOAD, count=backlog))
                await connection.execute("VACUUM ANALYZE q")
                await connection.execute("CHECKPOINT")

    async def _pgbench(self, script: str, clients: int) -> float:
        """Transactions a second."""
        parts = urlsplit(self._url)
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            command = [
                *(str(find_binaries().folder / "pgbench"), "--no-vacuum", "--protocol=prepared", "--jobs=2"),
                *("-h", str(parts.hostname), "-p", str(parts.port), "-U", str(parts.username)),
                *("-f", file.name, f"--client={clients}", f"--time={self._size.seconds}", parts.path[1:]),
            ]
            done = await asyncio.to_thread(
                subprocess.run,
                command,
                check=False,
                capture_output=True,
                text=True,
                env={**ENVIRONMENT, "PGPASSWORD": parts.password or ""},
            )
        if done.returncode:
            raise RuntimeError(f"pgbench failed: {done.stderr[-500:]}")
        said = re.search(r"tps = ([\d.]+)", done.stdout)
        if said is None:
            raise RuntimeError(f"pgbench said nothing of its speed: {done.stdout}")
        return float(said[1])

    async def _http(self, name: str, path: str) -> None:
        await self._table(0)
        port = free_port()
        command = (
            *(
                sys.executable,
                "-m",
                "uvicorn",
                "bench.limits_app:app",
                "--port",
                str(port),
                "--loop",
                "uvloop",
            ),
            *("--http", "httptools", "--no-access-log", "--log-level", "warning"),
        )
        body = json.dumps({"tenant": 1, "workflow": "noop", "input": {"a": 1, "b": "hello"}}).encode()
        rounds, used, loader = [], [], []
        with running(*command, env={**ENVIRONMENT, "BENCH_LIMITS_URL": self._url}) as server:
            async with Exchange(f"http://127.0.0.1:{port}") as exchange:
                await until_answered(lambda: exchange.send("POST", path, body), {202})
                for _ in range(self._size.repeats):
                    usage = Usage({"server": [server.pid], "loader": [os.getpid()]})
                    rounds.append(
                        self._size.requests / await _posted(exchange, path, body, self._size.requests)
                    )
                    spent = usage.milliseconds()
                    used.append(spent["server"] / self._size.requests)
                    loader.append(spent["loader"] / self._size.requests)
        self._add("http", name, rounds, clients=CLIENTS)
        self._add("http", f"{name}: cpu_ms", used)
        self._add("http", f"{name}: cpu_ms of the loader", loader)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        connection = await asyncpg.connect(self._url)
        try:
            yield connection
        finally:
            await connection.close()

    def _add(self, peer: str, metric: str, rounds: list[float], **settings: Setting) -> None:
        self._recorder.add(Figure.of(peer, "raw", metric, rounds, {**DURABLE, **settings}))


async def _posted(exchange: Exchange, path: str, body: bytes, count: int) -> float:
    left = iter(range(count))

    async def client() -> None:
        for _ in left:
            status, _answer = await exchange.send("POST", path, body)
            if status != 202:
                raise RuntimeError(f"POST {path}: {status}")

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="database that may be written to")
    parser.add_argument("--out", type=Path, required=True, help="file to append figures to")
    parser.add_argument("--size", choices=SIZES, default="full")
    arguments = parser.parse_args()
    uvloop.run(Limits(arguments.url, SIZES[arguments.size], Recorder(arguments.out)).run())


if __name__ == "__main__":
    main()
