"""The API: one port, one event loop, the application of `api` on a server of its own."""

import asyncio
import contextlib
import errno
import functools
import logging
import socket
from collections.abc import Callable, Iterator
from typing import TypeAlias

import uvicorn

from riven.api.app import create_app
from riven.api.limits import RateLimiter
from riven.api.state import ApiSettings, AppState
from riven.cli.app import CommandError
from riven.cli.launching import ProcessCall
from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.db.identity import new_id
from riven.main.database import open_database
from riven.main.exposing import MetricsPage
from riven.main.functions import load_functions
from riven.main.process import Build
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry
from riven.queue.wake import Announcer
from riven.settings import Settings
from riven.telemetry.metrics import HTTP_REQUESTS, HTTP_SECONDS
from riven.tenancy.authentication import Authenticator
from riven.tenancy.claims import TokenVerifier
from riven.tenancy.directory import WorkspaceDirectory
from riven.views.waiting import engine_trouble

BACKLOG = 2_048
LAST_ANSWERS = 3
"""Seconds that requests under way get when the process is asked to end. Streams of events end at once."""

_log = logging.getLogger("riven.process")


LoadVerifier: TypeAlias = Callable[[Settings], TokenVerifier]
"""Called where there is an issuer of tokens: what checks them is loaded only then."""


class _Server(uvicorn.Server):
    """Signals are the process's, not the server's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Api:
    def __init__(
        self,
        settings: Settings,
        functions: Functions,
        listening: socket.socket,
        verifier: TokenVerifier | None = None,
    ) -> None:
        database = self._database = open_database(settings, "api")
        self._listening = listening
        self._state = AppState(
            database=database,
            announcer=Announcer(database, new_id()),
            authenticator=Authenticator(database, oidc=verifier),
            directory=WorkspaceDirectory(database),
            registry=Registry.discover(),
            functions=functions,
            settings=ApiSettings(
                queue_max_attempts=settings.queue_max_attempts, lease_ttl=settings.lease_ttl
            ),
            limiter=RateLimiter(settings.rate_limit),
            checks={"engine": functools.partial(_engine_trouble, database)}
            if settings.engine == "temporal"
            else {},
            expose_metrics=MetricsPage(database).expose,
            observe=_observe,
        )
        config = uvicorn.Config(
            create_app(self._state),
            loop="none",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=LAST_ANSWERS,
        )
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()

    async def start(self) -> None:
        self._state.start()
        serving = self._server.serve(sockets=[self._listening])
        self._task = asyncio.get_running_loop().create_task(serving, name="riven-api")
        while not self._server.started and not self._task.done():  # noqa: ASYNC110 - it has no event for it
            await asyncio.sleep(0.005)
        host, port = self._listening.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        _log.info("api_listening", extra={"url": url})
        self.ready.set()

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)

    def hurry(self) -> None:
        self._server.force_exit = True

    async def stop(self, deadline: float) -> None:
        self._server.config.timeout_graceful_shutdown = min(LAST_ANSWERS, max(1, round(deadline)))
        self._server.should_exit = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._state.events.close(), LAST_ANSWERS)  # nobody else would end a stream
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._state.close(), LAST_ANSWERS)
        with contextlib.suppress(TimeoutError, DatabaseError):
            await asyncio.wait_for(self._database.close(), LAST_ANSWERS)


def assemble(call: ProcessCall, settings: Settings, load_verifier: LoadVerifier) -> Build:
    """The process `riven api`."""
    build = assemble_api(call, settings, load_functions(settings.functions), load_verifier)
    return lambda: [build()]


def assemble_api(
    call: ProcessCall, settings: Settings, functions: Functions, load_verifier: LoadVerifier
) -> Callable[[], Api]:
    """Raises CallError and CommandError for what is wrong with the call or the settings."""
    listening = listen(call, settings)
    verifier = None if settings.oidc_issuer is None else load_verifier(settings)
    return lambda: Api(settings, functions, listening, verifier)


def listen(call: ProcessCall, settings: Settings) -> socket.socket:
    """The socket that a supervisor listens on already, or one of our own. Raises CommandError."""
    if call.descriptor is not None:
        return socket.socket(fileno=call.descriptor)
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        what = "port with --port or RIVEN_PORT" if taken else "address with --host or RIVEN_HOST"
        said = f"cannot listen on {host}:{port}: {reason}; choose another {what}"
        raise CommandError(said) from error


async def _engine_trouble(database: Database) -> str | None:
    """As its dispatchers say: the API itself has nothing to do with the engine."""
    try:
        async with database.read() as connection:
            return await engine_trouble(connection)
    except DatabaseError:
        return None  # that is told by itself


def _observe(method: str, route: str, status: int, seconds: float) -> None:
    HTTP_REQUESTS.add(method, route, str(status))
    HTTP_SECONDS.observe(seconds, method, route)
