"""How a command hands a process over to `main`, which alone can put one together."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCall:
    """Which process, and what was said of it; None: as the settings have it."""

    role: Literal["api", "dispatcher", "worker", "maintenance", "all", "migrate"]
    engine: Literal["embedded", "temporal"] | None = None
    host: str | None = None
    port: int | None = None
    descriptor: int | None = None
    """The socket that a supervisor listens on already."""
    name: str | None = None
    functions: tuple[str, ...] = ()
    maintenance: bool = False
    """The API does its work as well."""
    succeeds: bool = False
    """Whoever had this name before is dead: a supervisor has seen it."""
    watched: bool = False
    """A supervisor holds the other end of the standard input."""
    platform_key: bool = False


class Launch(Protocol):
    def __call__(self, call: ProcessCall) -> int:
        """Run the process to its end; its exit code."""
