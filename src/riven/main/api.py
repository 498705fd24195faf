"""The API: one port, one event loop, the application of `api` on a server of its own."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator

import uvicorn

from riven.api.app import create_app
from riven.api.limits import RateLimiter
from riven.api.state import ApiSettings, AppState
from riven.cli.app import CommandError
from riven.cli.launching import ProcessCall
from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.db.identity import new_id
from riven.main.clock import wall_seconds
from riven.main.exposing import MetricsPage
from riven.main.functions import load_functions
from riven.main.process import Build
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry
from riven.queue.wake import Announcer
from riven.settings import Settings
from riven.telemetry.metrics import HTTP_REQUESTS, HTTP_SECONDS
from riven.tenancy.authentication import Authenticator
from riven.tenancy.directory import WorkspaceDirectory
from riven.tenancy.oidc import OidcSettings, OidcVerifier

BACKLOG = 2_048
LAST_ANSWERS = 5
"""Seconds that requests under way get when the process is asked to end; streams of events are cut off then."""

_log = logging.getLogger("riven.process")


class _Server(uvicorn.Server):
    """Signals are the process's, not the server's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Api:
    def __init__(self, settings: Settings, functions: Functions, listening: socket.socket) -> None:
        database = self._database = Database(
            settings.database(), application="riven api", pool_size=settings.database_pool_size
        )
        self._listening = listening
        self._state = AppState(
            database=database,
            announcer=Announcer(database, new_id()),
            authenticator=Authenticator(database, oidc=_oidc(settings)),
            directory=WorkspaceDirectory(database),
            registry=Registry.discover(),
            functions=functions,
            settings=ApiSettings(queue_max_attempts=settings.queue_max_attempts),
            limiter=RateLimiter(settings.rate_limit),
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
        self._server.config.timeout_graceful_shutdown = min(LAST_ANSWERS, round(deadline))
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._state.close(), LAST_ANSWERS)
        with contextlib.suppress(TimeoutError, DatabaseError):
            await asyncio.wait_for(self._database.close(), LAST_ANSWERS)


def assemble(call: ProcessCall, settings: Settings) -> Build:
    """The process `riven api`."""
    functions, listening = load_functions(settings.functions), listen(call, settings)
    return lambda: [Api(settings, functions, listening)]


def listen(call: ProcessCall, settings: Settings) -> socket.socket:
    """The socket that a supervisor listens on already, or one of our own. Raises CommandError."""
    if call.descriptor is not None:
        return socket.socket(fileno=call.descriptor)
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = error.strerror or str(error)
        said = f"cannot listen on {host}:{port}: {reason}; choose another port with --port or RIVEN_PORT"
        raise CommandError(said) from error


def _oidc(settings: Settings) -> OidcVerifier | None:
    if settings.oidc_issuer is None or settings.oidc_audience is None:
        return None
    oidc = OidcSettings(
        issuer=settings.oidc_issuer, audience=settings.oidc_audience, jwks_url=settings.oidc_jwks_url
    )
    return OidcVerifier(oidc, clock=wall_seconds)


def _observe(method: str, route: str, status: int, seconds: float) -> None:
    HTTP_REQUESTS.add(method, route, str(status))
    HTTP_SECONDS.observe(seconds, method, route)
