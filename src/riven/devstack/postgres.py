"""PostgreSQL out of a wheel: one server on one directory, started and watched by riven.

    directory/
      lock          held by the riven that owns the directory; `datadir`
      server.lock   held by every process of the server; `leftovers`
      server.json   port and password, 0600
      riven.conf    settings of riven, written anew at every start
      postgres.log  bounded; `serverlog`
      data/         the server's own files; there once they are complete: `cluster`

It listens on 127.0.0.1 alone and has no socket in the file system, whose path could be too long. The owner of the
database logs in by a random password; nobody logs in as superuser. When riven dies, however it dies, the server is told
to end by the kernel (Linux), or is found and ended by the next start; what was committed is there.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import asyncpg

from riven.devstack.binaries import Binaries, find_binaries
from riven.devstack.cluster import (
    DATABASE,
    OWNER,
    SETTINGS_FILE,
    check_version,
    create_cluster,
    major_version_of,
    new_password,
    reset_password,
    settings_text,
)
from riven.devstack.datadir import DataDirectory, take
from riven.devstack.errors import DataDirectoryError, ServerFailedError
from riven.devstack.launch import RunAs
from riven.devstack.leftovers import forget_stale_pid, stop_leftovers
from riven.devstack.ports import check_port, choose_port, is_free
from riven.devstack.program import Program, how_it_ended, start_program
from riven.devstack.run_as import choose_way, give_away, ways_to_run
from riven.devstack.serverlog import ServerLog, progress_in, reason_in

STATE_FILE = "server.json"
SERVER_LOCK = "server.lock"
LOOK_AGAIN = 0.02
LOG_CHECK_INTERVAL = 30.0
_STOPPING = ((signal.SIGQUIT, 2.0), (signal.SIGKILL, 2.0))
"""What follows when the deadline for an orderly end has passed: end at once (the next start recovers), then be killed."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """What is kept from start to start."""

    port: int
    password: str


def _silent(_: str) -> None:
    pass


class EmbeddedPostgres:
    """Follows `riven.lifecycle.Lifecycle`. A server that died is started again, on the same port, by `start`.

    `port` 0 takes a free one and keeps it for later starts, as long as it is free then. `settings` are PostgreSQL's,
    over those of `cluster.SETTINGS`. `progress` is told in a few words what takes long. `patience` is how many seconds
    a start may go on without any progress. Start it from the main thread: the kernel ends the server with the thread
    that started it, so from other threads it is not asked to.
    """

    def __init__(
        self,
        directory: Path,
        *,
        port: int = 0,
        settings: Mapping[str, str] | None = None,
        progress: Callable[[str], None] = _silent,
        patience: float = 60.0,
        ways: Callable[[int], tuple[RunAs, ...]] = ways_to_run,
    ) -> None:
        self._directory = DataDirectory(directory)
        self._data = self._directory.path / "data"
        self._wanted_port = port
        self._settings = dict(settings or {})
        self._progress = progress
        self._patience = patience
        self._ways = ways
        self._log = ServerLog(self._directory.path / "postgres.log")
        self._log_check: asyncio.TimerHandle | None = None
        self._moving = asyncio.Lock()
        self._state: ServerState | None = None
        self._program: Program | None = None
        self._ready = False
        self._known_port: int | None = None

    @property
    def started(self) -> bool:
        return self._ready and self._program is not None and self._program.running

    @property
    def pid(self) -> int:
        """The server's first process: whoever kills it kills the server."""
        return self._running_program().pid

    @property
    def port(self) -> int:
        return self._kept_state().port

    @property
    def url(self) -> str:
        """Of the database, as its owner, in libpq's form."""
        state = self._kept_state()
        return f"postgresql://{OWNER}:{state.password}@127.0.0.1:{state.port}/{DATABASE}"

    @property
    def log(self) -> Path:
        return self._log.path

    async def start(self) -> None:
        """Returns when a query was answered. Raises DevstackError, with nothing left running."""
        async with self._moving:
            if self.started:
                return
            self._directory.own()
            try:
                await self._start()
            except BaseException:  # a cancelled start leaves nothing behind either
                self._abandon()
                raise

    async def wait(self) -> str:
        """Returns when the server has ended, whoever ended it, with how it did in words."""
        return how_it_ended(await self._running_program().wait())

    async def stop(self, deadline: float = 10.0) -> None:
        """End it in order, within `deadline` seconds; after that at once, which costs the next start a recovery."""
        async with self._moving:
            self._ready = False
            if self._log_check:
                self._log_check.cancel()
            if self._program:
                for number, seconds in ((signal.SIGINT, deadline), *_STOPPING):
                    self._program.send(number)
                    if await self._program.ends_within(seconds):
                        break
            self._program = None
            self._directory.release()

    async def _start(self) -> None:
        self._ready = False
        binaries = find_binaries()
        made_by = major_version_of(self._data)
        run_as, version = await choose_way(self._ways(self._owner()), binaries, self._directory.path)
        if made_by is not None:
            check_version(self._data, made_by, version)
        server_lock = self._directory.open_lock(SERVER_LOCK)
        try:
            await self._end_leftovers(server_lock)
            self._prepare_files(run_as)
            state = self._read_state()
            password = state.password if state else new_password()
            if made_by is not None and state is None:
                await reset_password(self._data, binaries, run_as, password)
            self._keep(ServerState(self._pick_port(state), password))
            if made_by is None:
                self._progress("creating the database")
                await create_cluster(self._data, binaries, run_as, password, self._settings)
            self._program = self._launch(binaries, run_as, server_lock)
        finally:
            os.close(server_lock)
        await self._until_ready(self._program)
        await self._ask(self._kept_state())
        self._ready = True
        self._known_port = self.port
        self._watch_log()

    def _owner(self) -> int:
        """Whose the files are: whoever runs the server has to be that user."""
        there = self._data.exists()
        owner = (self._data if there else self._directory.path).stat().st_uid
        if there and os.geteuid() not in {0, owner}:
            raise DataDirectoryError(
                f"{self._data} belongs to user {owner}, and riven runs as {os.geteuid()}: "
                "start it as that user, or choose another directory with --data-dir"
            )
        return owner

    async def _end_leftovers(self, server_lock: int) -> None:
        mine = take(server_lock)
        if not mine:
            self._progress("ending a server that was left running")
        if not mine or (self._data / "postmaster.pid").exists():
            await stop_leftovers(self._data, lambda: take(server_lock))
            forget_stale_pid(self._data)

    def _prepare_files(self, run_as: RunAs) -> None:
        self._directory.write(SETTINGS_FILE, settings_text(self._settings))
        try:
            give_away(self._directory.path, run_as)
        except OSError as error:
            raise DataDirectoryError.of(self._directory.path, error) from error

    def _read_state(self) -> ServerState | None:
        """None if there is none, or none that can be read: then there is a new password."""
        try:
            stored = json.loads(self._directory.read(STATE_FILE) or "null")
            return ServerState(port=int(stored["port"]), password=str(stored["password"]))
        except (ValueError, TypeError, KeyError):
            return None

    def _keep(self, state: ServerState) -> None:
        self._directory.write(STATE_FILE, json.dumps(asdict(state)) + "\n")
        self._state = state

    def _pick_port(self, kept: ServerState | None) -> int:
        if self._wanted_port:
            check_port(self._wanted_port)
            return self._wanted_port
        if self._known_port:  # started again: others have the address
            check_port(self._known_port)
            return self._known_port
        return kept.port if kept and is_free(kept.port) else choose_port()

    def _launch(self, binaries: Binaries, run_as: RunAs, server_lock: int) -> Program:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
        }
        try:
            with self._log.open() as output:
                self._directory.hand_over(self.log)
                return start_program(
                    [
                        *(binaries.postgres, "-D", self._data),
                        *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
                    ],
                    output=output,
                    run_as=run_as,
                    keep_open=(server_lock,),
                    death_signal=signal.SIGINT,
                )
        except OSError as error:
            raise DataDirectoryError.of(self.log, error) from error

    async def _until_ready(self, program: Program) -> None:
        seen: list[str] = []
        end = time.monotonic() + self._patience
        while True:
            running = program.running
            lines = self._log.new_lines()
            seen = [*seen, *lines][-200:]
            if said := progress_in(lines):
                self._progress(said)
                end = time.monotonic() + self._patience
            if not running:
                raise ServerFailedError(
                    f"PostgreSQL did not start: {reason_in(seen)} (log: {self.log})", self.log
                )
            if self._says_ready(program):
                return
            if time.monotonic() > end:
                raise ServerFailedError(
                    f"PostgreSQL was not ready after {self._patience:g} s without progress (log: {self.log})",
                    self.log,
                )
            await asyncio.sleep(LOOK_AGAIN)

    def _says_ready(self, program: Program) -> bool:
        try:
            lines = (self._data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(program.pid) and lines[7].strip() == "ready"

    async def _ask(self, state: ServerState) -> None:
        try:
            connection = await asyncpg.connect(
                host="127.0.0.1",
                port=state.port,
                user=OWNER,
                password=state.password,
                database=DATABASE,
                ssl=False,
                timeout=self._patience,
            )
            try:
                await connection.fetchval("SELECT 1")
            finally:
                await connection.close(timeout=self._patience)
        except asyncpg.InvalidPasswordError as error:
            raise ServerFailedError(
                f"the password in {self._directory.path / STATE_FILE} is not the database's: "
                "remove that file and start again, and a new password is set",
                self.log,
            ) from error
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            raise ServerFailedError(
                f"PostgreSQL answers no query: {error} (log: {self.log})", self.log
            ) from error

    def _watch_log(self) -> None:
        if self._log_check:
            self._log_check.cancel()
        self._log.keep_bounded()
        self._log_check = asyncio.get_running_loop().call_later(LOG_CHECK_INTERVAL, self._watch_log)

    def _abandon(self) -> None:
        if self._program:
            self._program.send(signal.SIGQUIT)
            self._program.send(signal.SIGCONT)  # one that was stopped hears nothing else
        self._program = None
        self._directory.release()

    def _running_program(self) -> Program:
        if self._program is None:
            raise RuntimeError("the server is not started")
        return self._program

    def _kept_state(self) -> ServerState:
        if self._state is None:
            raise RuntimeError("the server is not started")
        return self._state
