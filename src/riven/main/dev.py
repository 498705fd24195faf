"""`riven dev`: the whole product on this machine, on one data directory, watched over until it is told to stop.

PostgreSQL, the API, workers and maintenance are processes of their own: each can die alone and is started again. This
process serves nothing itself; it holds the directory's lock and the API's socket, so that the address outlives the API.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riven.devstack.datadir import DataDirectory
from riven.devstack.errors import DevstackError
from riven.devstack.parts import Parts, Plan, how_it_ended
from riven.devstack.postgres import EmbeddedPostgres

DEV_JSON = "dev.json"
KEY_FILE = "api-key"
DRAIN_MARGIN = 5.0
_READY_WITHIN = 60.0
_AGAIN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DevOptions:
    data_dir: Path
    host: str
    port: int
    """0: a free one."""
    workers: int
    functions: tuple[str, ...]
    environment: Mapping[str, str]
    """That of the parts: all RIVEN_ settings reach them."""
    drain_timeout: float


class Dev:
    def __init__(self, options: DevOptions, say: Callable[[str], None]) -> None:
        self._options = options
        self._say = say
        self._directory = DataDirectory(options.data_dir)
        self._postgres = EmbeddedPostgres(self._directory.path / "postgres", progress=say)
        self._parts = Parts(self._write_state, say)
        self._state: dict[str, Any] | None = None
        self._stopping = False
        self._socket: socket.socket | None = None

    async def run(self) -> None:
        """Until SIGINT or SIGTERM. Raises DevstackError when it cannot start; then nothing is left running."""
        self._directory.own()
        asked_to_stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, asked_to_stop.set)
        guards: list[asyncio.Task[None]] = []
        try:
            starting = loop.create_task(self._start())
            stopping = loop.create_task(asked_to_stop.wait())
            try:
                await _first(starting, stopping)
                if not starting.done():
                    return
                starting.result()
                guards.append(loop.create_task(self._guard_postgres()))
                await asked_to_stop.wait()
            finally:
                stopping.cancel()
                starting.cancel()
                await asyncio.gather(starting, stopping, return_exceptions=True)
        finally:
            await self._stop(guards)

    async def _start(self) -> None:
        options = self._options
        listening = self._socket = _listen(options.host, options.port)
        await self._postgres.start()
        prepared = await _prepare(self._postgres.url, self._directory.read(KEY_FILE))
        self._directory.write(KEY_FILE, prepared["apiKey"])
        host, port = listening.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        environment = {**options.environment, "RIVEN_DATABASE_URL": self._postgres.url}
        if options.functions:
            environment["RIVEN_FUNCTIONS"] = ",".join(options.functions)

        def plan(name: str, *arguments: str, descriptors: tuple[int, ...] = ()) -> Plan:
            command = (sys.executable, "-m", "riven.main.command", *arguments, "--watched")
            return Plan(name, command, environment, descriptors)

        await self._parts.start(
            plan("api", "api", "--fd", str(listening.fileno()), descriptors=(listening.fileno(),))
        )
        await self._parts.start(plan("maintenance", "maintenance"))
        for name in self._worker_names():
            await self._parts.start(plan(name, "worker", "--name", name))
        await _until_ready(host, port)
        self._state = {
            "url": url,
            "apiKey": prepared["apiKey"],
            "workspaceId": prepared["workspaceId"],
            "databaseUrl": self._postgres.url,
            "temporalAddress": None,
            "pid": os.getpid(),
        }
        self._write_state()
        self._say(f"riven is ready: {url}")
        self._say(f"API key (in {self._directory.path / KEY_FILE}): {prepared['apiKey']}")

    def _worker_names(self) -> list[str]:
        count = self._options.workers
        return ["worker"] if count == 1 else [f"worker-{number}" for number in range(1, count + 1)]

    def _write_state(self) -> None:
        """dev.json says who runs as what; written when all is ready, and whenever a part was started again."""
        if self._state is None or self._stopping:
            return
        pids = (
            {"postgres": self._postgres.pid, **self._parts.pids}
            if self._postgres.started
            else self._parts.pids
        )
        self._directory.write(DEV_JSON, json.dumps({**self._state, "pids": pids}, indent=2) + "\n")

    async def _guard_postgres(self) -> None:
        while True:
            ended = await self._postgres.wait()
            if self._stopping:
                return
            self._say(f"PostgreSQL ended ({ended}); it is started again")
            while True:
                try:
                    await self._postgres.start()
                    break
                except DevstackError as error:
                    self._say(f"PostgreSQL does not start: {error}")
                    await asyncio.sleep(_AGAIN)
            self._write_state()

    async def _stop(self, guards: list[asyncio.Task[None]]) -> None:
        self._stopping = True
        if self._parts.pids:
            self._say("stopping: what runs may end first")
        # The API first and alone: whoever starts something now is refused, not left waiting.
        await self._parts.stop(["api"], DRAIN_MARGIN)
        await self._parts.stop(
            [*self._worker_names(), "maintenance"], self._options.drain_timeout + DRAIN_MARGIN
        )
        await self._parts.close()
        for guard in guards:
            guard.cancel()
        await asyncio.gather(*guards, return_exceptions=True)
        await self._postgres.stop()
        if self._socket is not None:
            self._socket.close()
        (self._directory.path / DEV_JSON).unlink(missing_ok=True)
        self._directory.release()


async def _first(*tasks: "asyncio.Task[Any]") -> None:
    """Return as soon as one of them has ended."""
    ended = asyncio.get_running_loop().create_future()

    def end(_: "asyncio.Task[Any]") -> None:
        if not ended.done():
            ended.set_result(None)

    for task in tasks:
        task.add_done_callback(end)
    await ended


def _listen(host: str, port: int) -> socket.socket:
    """The API's socket. It is ours, and inherited, so that the address stays while the API is started again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise DevstackError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another port with --port (0: a free one)"
        ) from error
    listening.listen(1024)
    return listening


async def _prepare(url: str, key: str | None) -> dict[str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "riven.main.prepare",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    asked = json.dumps({"databaseUrl": url, "apiKey": key}).encode()
    answer, errors = await process.communicate(asked)
    if process.returncode != 0:
        reason = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise DevstackError(
            f"the database could not be prepared ({how_it_ended(process.returncode or 0)}): {reason}"
        )
    prepared: dict[str, str] = json.loads(answer)
    return prepared


async def _until_ready(host: str, port: int) -> None:
    async def ask() -> bool:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()

    try:
        async with asyncio.timeout(_READY_WITHIN):
            while not await ask():  # noqa: ASYNC110 - another process has no event of ours
                await asyncio.sleep(0.05)
    except (TimeoutError, OSError) as error:
        raise DevstackError(f"the API did not become ready within {_READY_WITHIN:g} s") from error
