"""`riven dev`: the whole product on this machine, on one data directory, watched over until it is told to stop.

    directory/
      lock        held by the `riven dev` that owns the directory
      parts.lock  held by it and by every part: while it is taken, parts of an earlier one live
      api-key     of the platform, 0600
      dev.json    who runs where, while it is ready
      logs/       a file for each part
      postgres/   the database; `devstack.postgres`
      temporal/   Temporal, where it is the engine; `devstack.temporal`

PostgreSQL, Temporal, the API (with maintenance), the dispatcher (with Temporal alone) and workers are processes of their
own: each can die alone and is started again.
This process serves nothing itself; it holds the API's socket, so that the address outlives the API.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from riven.cli.data_directory import DEV_JSON
from riven.cli.dev import DevCall
from riven.devstack.datadir import DataDirectory, take
from riven.devstack.errors import DevstackError
from riven.devstack.leftovers import kill_holders
from riven.devstack.parts import Parts, Plan
from riven.devstack.postgres import EmbeddedPostgres
from riven.devstack.serverlog import ServerLog
from riven.devstack.temporal import EmbeddedTemporal
from riven.main.listening import in_url, is_ready, listen, reachable
from riven.main.preparation import Preparation, python_module
from riven.settings import Settings, child_environment

KEY_FILE = "api-key"
PARTS_LOCK = "parts.lock"
LOGS = "logs"
API, DISPATCHER, MAINTENANCE = "api", "dispatcher", "maintenance"
POSTGRES, TEMPORAL = "postgres", "temporal"
DRAIN_MARGIN = 5.0
"""Seconds that a part has beside the time to drain, before it is killed."""
_LEFTOVERS_END_WITHIN = 12.0
_KILLED_END_WITHIN = 3.0
_READY_WITHIN = 60.0
_AGAIN = 0.5
_LOG_CHECK_INTERVAL = 30.0

Say = Callable[[str], None]


def run_dev(call: DevCall, say: Say) -> None:
    """Until SIGINT, SIGTERM or SIGHUP. Raises RivenError when it cannot start; then nothing is left running."""
    engine = {} if call.engine is None else {"RIVEN_ENGINE": call.engine}
    settings = Settings.from_environment(**engine)
    asyncio.run(Dev(call, settings, say).run())


class Dev:
    def __init__(self, call: DevCall, settings: Settings, say: Say) -> None:
        self._call = call
        self._settings = settings
        self._say = say
        self._directory = DataDirectory(call.data_dir)
        self._postgres = (
            EmbeddedPostgres(self._directory.path / POSTGRES, progress=say)
            if settings.database_url is None
            else None
        )
        self._temporal = (
            EmbeddedTemporal(self._directory.path / TEMPORAL, namespace=settings.temporal_namespace)
            if settings.engine == "temporal" and settings.temporal_address is None
            else None
        )
        self._parts = Parts(self._write_state, say)
        self._logs: list[ServerLog] = []
        self._state: dict[str, Any] | None = None
        self._stopping = False
        self._socket: socket.socket | None = None
        self._parts_lock: int | None = None

    async def run(self) -> None:
        self._directory.own()
        unclean = self._forget_state()
        stop = _Stop(self._parts.hurry)
        guards: list[asyncio.Task[None]] = []
        loop = asyncio.get_running_loop()
        try:
            if await stop.unless(self._start(unclean=unclean)):
                guards.append(loop.create_task(self._keep_logs_bounded(), name="riven-logs"))
                for name, server in (("PostgreSQL", self._postgres), ("Temporal", self._temporal)):
                    if server is not None:
                        guards.append(loop.create_task(self._guard(name, server), name=f"riven-guard-{name}"))
                await stop.asked.wait()
        finally:
            await self._stop(guards)
            stop.close()

    # ---- start ----------------------------------------------------------------------------------------------------

    async def _start(self, *, unclean: bool) -> None:
        begun = time.monotonic()
        async with contextlib.AsyncExitStack() as preparing:
            preparation = await preparing.enter_async_context(Preparation())
            await self._end_leftovers()
            listening = self._socket = await listen(
                self._call.host or self._settings.host,
                self._settings.port if self._call.port is None else self._call.port,
                patience=_LEFTOVERS_END_WITHIN if unclean else 0,
            )
            database_url = await self._start_database()
            temporal_address = await self._start_temporal()
            self._start_parts(database_url, temporal_address, listening)
            prepared = await preparation.prepare(database_url, self._directory.read(KEY_FILE))
        self._directory.write(KEY_FILE, prepared["apiKey"])
        host, port = listening.getsockname()[:2]
        await _ready_in_time(self._parts, reachable(host), port)
        url = f"http://{in_url(reachable(host))}:{port}"
        self._state = {
            "url": url,
            "apiKey": prepared["apiKey"],
            "workspaceId": prepared["workspaceId"],
            "databaseUrl": database_url,
            "temporalAddress": temporal_address,
            "pid": os.getpid(),
        }
        self._write_state()
        self._greet(url, prepared["apiKey"], time.monotonic() - begun)

    async def _end_leftovers(self) -> None:
        """Parts of a `riven dev` that was killed end by themselves, soon: they are not to meet ours.

        One that is frozen, or stuck in a function, does not, and is killed.
        """
        lock = self._parts_lock = self._directory.open_lock(PARTS_LOCK)
        end = time.monotonic() + _LEFTOVERS_END_WITHIN
        waited = killed = False
        while not take(lock):
            if not waited:
                self._say("waiting for processes of an earlier 'riven dev' to end")
                waited = True
            if time.monotonic() > end and not killed:
                killed = True
                end += _KILLED_END_WITHIN
                kill_holders(self._directory.path / PARTS_LOCK)
            elif time.monotonic() > end:
                raise DevstackError(
                    f"processes of an earlier 'riven dev' still run on {self._directory.path} (with {PARTS_LOCK} open): "
                    "end them first"
                )
            await asyncio.sleep(0.05)

    async def _start_database(self) -> str:
        if self._postgres is None:
            return self._settings.database()
        await self._postgres.start()
        return self._postgres.url

    async def _start_temporal(self) -> str | None:
        """Its address; None where it is not the engine."""
        if self._temporal is None:
            return self._settings.temporal_address
        await self._temporal.start()
        return self._temporal.address

    def _start_parts(self, database_url: str, temporal_address: str | None, listening: socket.socket) -> None:
        environment = child_environment(RIVEN_DATABASE_URL=database_url, RIVEN_ENGINE=self._settings.engine)
        if temporal_address is not None:
            environment["RIVEN_TEMPORAL_ADDRESS"] = temporal_address
        environment.setdefault("RIVEN_LOG_FORMAT", "text")
        logs = self._directory.path / LOGS
        if not self._call.shows_logs:
            logs.mkdir(mode=0o700, exist_ok=True)
            self._directory.hand_over(logs)
        assert self._parts_lock is not None  # noqa: S101 - taken before
        kept = self._parts_lock

        def start(
            name: str, *arguments: str, also: tuple[str, ...] = (), descriptors: tuple[int, ...] = ()
        ) -> None:
            log = None
            if not self._call.shows_logs:
                log = ServerLog(logs / f"{name}.log")
                self._logs.append(log)
            self._parts.start(
                Plan(
                    name=name,
                    also=also,
                    command=(*python_module("riven.main.command"), *arguments, "--watched"),
                    environment=environment,
                    descriptors=(kept, *descriptors),
                    log=log,
                )
            )

        functions = [part for each in self._call.functions for part in ("--functions", each)]
        number = listening.fileno()
        start(
            API,
            "api",
            "--fd",
            str(number),
            "--maintenance",
            *functions,
            also=(MAINTENANCE,),
            descriptors=(number,),
        )
        # On its own database no other worker has such a name, and no part of an earlier start lives: what a dead one
        # held need not wait for its lease to run out.
        succeeds = [] if self._postgres is None else ["--succeeds"]
        if self._settings.engine == "temporal":
            start(DISPATCHER, "dispatcher", "--name", DISPATCHER, *succeeds)
        for name in self._worker_names():
            start(name, "worker", "--name", name, *succeeds, *functions)

    def _greet(self, url: str, key: str, seconds: float) -> None:
        directory = self._directory.path
        version = importlib.metadata.version("riven")
        logs = "shown here" if self._call.shows_logs else directory / LOGS
        temporal = "" if self._temporal is None else f"  temporal  {self._temporal.ui_url}\n"
        self._say(
            f"riven {version} is ready in {seconds:.1f} s: {url}\n"
            f"  open      {url}/docs#key={key}\n"
            f"{temporal}"
            f"  key       {key}\n"
            f"  data      {directory}\n"
            f"  logs      {logs}\n"
            "Ctrl-C stops it; the next start goes on with what was not finished."
        )

    # ---- while it runs --------------------------------------------------------------------------------------------

    def _worker_names(self) -> list[str]:
        count = self._call.workers
        return ["worker"] if count == 1 else [f"worker-{number}" for number in range(1, count + 1)]

    def _write_state(self) -> None:
        """dev.json says who runs as what; written when all is ready, and whenever a part was started again."""
        if self._state is None or self._stopping:
            return
        pids = self._parts.pids
        for name, server in ((TEMPORAL, self._temporal), (POSTGRES, self._postgres)):
            if server is not None and server.started:
                pids = {name: server.pid, **pids}
        try:
            self._directory.write(DEV_JSON, json.dumps({**self._state, "pids": pids}, indent=2) + "\n")
        except DevstackError as error:  # a full disk ends nothing
            self._say(f"{DEV_JSON} is out of date: {error}")

    def _forget_state(self) -> bool:
        """Whoever waits for dev.json shall not read that of one who was killed. Whether there was one."""
        try:
            (self._directory.path / DEV_JSON).unlink()
        except FileNotFoundError:
            return False
        return True

    async def _guard(self, name: str, server: EmbeddedPostgres | EmbeddedTemporal) -> None:
        while True:
            ended = await server.wait()
            if self._stopping:
                return
            self._say(f"{name} ended ({ended}) and is started again")
            while True:
                try:
                    await server.start()
                    break
                except DevstackError as error:
                    self._say(f"{name} does not start: {error}")
                    await asyncio.sleep(_AGAIN)
            self._write_state()

    async def _keep_logs_bounded(self) -> None:
        while True:
            await asyncio.sleep(_LOG_CHECK_INTERVAL)
            for log in self._logs:
                log.keep_bounded()

    # ---- stop -----------------------------------------------------------------------------------------------------

    async def _stop(self, guards: list[asyncio.Task[None]]) -> None:
        self._stopping = True
        if self._state is not None:
            self._say("stopping: what runs may end first; Ctrl-C again stops at once")
        with contextlib.suppress(FileNotFoundError):
            (self._directory.path / DEV_JSON).unlink()
        # The API first and alone: whoever starts something now is refused, not left waiting.
        await self._parts.stop([API], DRAIN_MARGIN)
        drained = [DISPATCHER, *self._worker_names()]
        await self._parts.stop(drained, self._settings.drain_timeout + DRAIN_MARGIN)
        await self._parts.close()
        for guard in guards:
            guard.cancel()
        await asyncio.gather(*guards, return_exceptions=True)
        for server in (self._temporal, self._postgres):
            if server is not None:
                await server.stop()
        if self._socket is not None:
            self._socket.close()
        if self._parts_lock is not None:
            os.close(self._parts_lock)
        self._directory.release()
        if self._state is not None:
            self._say("riven has stopped")


class _Stop:
    """What signals ask for: the first one to stop, further ones to do so at once."""

    def __init__(self, hurry: Callable[[], None]) -> None:
        self.asked = asyncio.Event()
        self._hurry = hurry
        self._loop = asyncio.get_running_loop()
        self._numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup wants it
            self._numbers.append(signal.SIGHUP)
        for number in self._numbers:
            self._loop.add_signal_handler(number, self._ask)

    def close(self) -> None:
        for number in self._numbers:
            self._loop.remove_signal_handler(number)

    async def unless(self, work: Any) -> bool:  # noqa: ANN401 - a coroutine
        """Do it, unless it is asked to stop meanwhile; whether it was done."""
        doing = self._loop.create_task(work)
        asking = self._loop.create_task(self.asked.wait())
        try:
            either = self._loop.create_future()
            for task in (doing, asking):
                task.add_done_callback(lambda _: None if either.done() else either.set_result(None))
            await either
            if doing.done():
                doing.result()
            return doing.done()
        finally:
            for task in (doing, asking):
                task.cancel()
            await asyncio.gather(doing, asking, return_exceptions=True)

    def _ask(self) -> None:
        if self.asked.is_set():
            self._hurry()
        self.asked.set()


async def _ready_in_time(parts: Parts, host: str, port: int) -> None:
    """Every part does its work, and the API says that nothing is missing."""
    try:
        async with asyncio.timeout(_READY_WITHIN):
            await parts.ready()
            while not await is_ready(host, port):  # noqa: ASYNC110 - another process has no event of ours
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise DevstackError(f"riven was not ready after {_READY_WITHIN:g} s; its logs may say why") from None
