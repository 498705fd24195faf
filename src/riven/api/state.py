"""What the endpoints work with. `main` builds it, once a process; tests build it on a database of their own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from riven.api.limits import RateLimiter
from riven.catalog.check import DocumentChecker
from riven.db.engine import Database
from riven.db.revision import is_current
from riven.intake.control import Controls
from riven.intake.gather import Intake
from riven.intake.rerun import Reruns
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry
from riven.queue.wake import Announcer
from riven.tenancy.authentication import Authenticator
from riven.tenancy.directory import WorkspaceDirectory
from riven.views.documents import Documents
from riven.views.events import EventHub


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    queue_max_attempts: int = 3
    """Attempts of dispatch in workspaces that set none of their own."""
    lease_ttl: float = 15.0
    """Seconds; that of the processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposition:
    """What `/metrics` answers."""

    body: bytes
    media_type: str


Check = Callable[[], Awaitable[str | None]]
"""None: ready; otherwise what is wrong, in a few words."""


@dataclass(slots=True, kw_only=True)
class AppState:
    database: Database
    announcer: Announcer
    authenticator: Authenticator
    directory: WorkspaceDirectory
    registry: Registry
    functions: Functions
    settings: ApiSettings = field(default_factory=ApiSettings)
    limiter: RateLimiter = field(default_factory=RateLimiter)
    checks: dict[str, Check] = field(default_factory=dict)
    """More than the database and its schema that `/readyz` asks, by name: `engine`."""
    expose_metrics: Callable[[], Awaitable[Exposition]] | None = None
    observe: Callable[[str, str, int, float], None] | None = None
    """Told of every answer: method, route, status, seconds."""
    checker: DocumentChecker = field(init=False)
    intake: Intake = field(init=False)
    controls: Controls = field(init=False)
    documents: Documents = field(default_factory=Documents)
    reruns: Reruns = field(init=False)
    events: EventHub = field(init=False)
    _schema_is_current: bool = False

    def __post_init__(self) -> None:
        self.checker = DocumentChecker(self.database, self.registry, self.functions.names)
        self.intake = Intake(self.database, self.announcer.announce)
        self.controls = Controls(self.database, self.announcer.announce)
        self.reruns = Reruns(self.database, self.announcer.announce)
        self.events = EventHub(self.database, self.documents)

    async def schema_is_current(self) -> bool:
        """Asked until it is: a schema only moves forward, and this code lives on every later one."""
        if not self._schema_is_current:
            self._schema_is_current = await is_current(self.database)
        return self._schema_is_current

    def start(self) -> None:
        self.authenticator.start()

    async def close(self) -> None:
        """The database stays open: it is its builder's."""
        await self.events.close()
        await self.intake.close()
        self.checker.close()
        await self.authenticator.close()
        await self.announcer.close()
