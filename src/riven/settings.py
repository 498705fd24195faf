"""What the environment says: read once, here alone, typed and checked, everything that is wrong at once.

A variable is `RIVEN_` and the field's name in capitals. A value that cannot be used, a name that nobody knows and a name
of something that this version does not have yet are refused at the start, with what to write instead: a setting that is
accepted has its effect. An empty value counts as absent.
"""

import os
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar, get_args
from urllib.parse import urlsplit

from riven.core.errors import RivenError
from riven.documents.nearest import hint
from riven.nodes.addresses import AllowRule
from riven.wire.durations import duration_text, parse_duration

PREFIX: Final = "RIVEN_"
CLIENT_VARIABLES: Final = ("RIVEN_URL", "RIVEN_API_KEY", "RIVEN_WORKSPACE")
"""Read by the commands that talk to a server; processes leave them alone."""

_LATER: Final = {
    "SECRET_KEY": "secrets are not part of this version",
}
EngineName: TypeAlias = Literal["embedded", "temporal"]
LogFormat: TypeAlias = Literal["json", "text"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
T = TypeVar("T")


class SettingsError(RivenError):
    """One or more variables cannot be used; `problems` has a line for each, which begins with its name."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


# ---- what values may look like ---------------------------------------------------------------------------------------


def _text(value: str) -> str:
    return value


def _switch(value: str) -> bool:
    match value.lower():
        case "true" | "1" | "yes" | "on":
            return True
        case "false" | "0" | "no" | "off":
            return False
        case _:
            raise ValueError(f"{value[:40]!r} is neither true nor false")


def _choice(choices: tuple[T, ...], value: str) -> T:
    for choice in choices:
        if choice == value.lower():
            return choice
    raise ValueError(f"{value[:40]!r} is not known; write {' or '.join(map(str, choices))}")


def _log_format(value: str) -> LogFormat:
    choices: tuple[LogFormat, ...] = get_args(LogFormat)
    return _choice(choices, value)


def _log_level(value: str) -> LogLevel:
    choices: tuple[LogLevel, ...] = get_args(LogLevel)
    return _choice(choices, value)


def _number(least: int, most: int, value: str) -> int:
    if not (value.isascii() and value.removeprefix("-").isdigit() and least <= int(value[:12]) <= most):
        raise ValueError(f"{value[:40]!r} is no whole number between {least} and {most}")
    return int(value)


def _factor(least: float, most: float, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not least <= number <= most:
        raise ValueError(f"{value[:40]!r} is no number between {least:g} and {most:g}")
    return number


def _seconds(least: float, most: float, value: str) -> float:
    seconds = parse_duration(value) / 1_000
    if not least <= seconds <= most:
        bounds = f"{duration_text(round(least * 1_000))} and {duration_text(round(most * 1_000))}"
        raise ValueError(f"{value!r} is not between {bounds}")
    return seconds


def _words(value: str) -> tuple[str, ...]:
    return tuple(part for part in (part.strip() for part in value.split(",")) if part)


def _allowed(value: str) -> tuple[str, ...]:
    entries = _words(value)
    for entry in entries:
        AllowRule.parse(entry)
    return entries


def _database(value: str) -> str:
    example = "write postgresql://user:password@host:5432/database"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(f"this is no address; {example}") from None
    if parts.scheme not in {"postgresql", "postgres"} or port == 0:
        raise ValueError(f"this is no address of a PostgreSQL database; {example}")
    return value


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ValueError(f"{value[:80]!r} is no address; write https://...")
    return value


def _engine(value: str) -> EngineName:
    choices: tuple[EngineName, ...] = get_args(EngineName)
    return _choice(choices, value)


def _host_and_port(value: str) -> str:
    parts = urlsplit(f"//{value}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or not port or parts.netloc != value or "@" in value:
        raise ValueError(f"{value[:80]!r} is no address; write host:port, such as temporal.example:7233")
    return value


def _name(value: str) -> str:
    if len(value) > 255 or not value.isprintable():
        raise ValueError(f"{value[:40]!r} is no name; write at most 255 visible characters")
    return value


def _file(value: str) -> str:
    try:
        with open(value, "rb") as file:  # noqa: PTH123 - the text is kept as it was written
            file.read(1)
    except OSError as error:
        raise ValueError(f"{value[:200]!r} cannot be read: {error.strerror}") from None
    return value


def _crash(value: str) -> tuple[str, int]:
    name, _, passage = value.partition(":")
    return name, _number(1, 1_000_000, passage) if passage else 1


def _setting(parse: Callable[[str], T], default: T, about: str, shown: str) -> T:
    return field(default=default, metadata={"parse": parse, "about": about, "default": shown})


_HOUR: Final = 3_600.0
_DAY: Final = 24 * _HOUR
_TEN_YEARS: Final = 3_650 * _DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Durations are in seconds. The order is that of the reference."""

    # ---- where everything is
    database_url: str | None = _setting(
        _database,
        None,
        "Address of the PostgreSQL database (15 or later), such as `postgresql://user:password@host:5432/riven`. Every "
        "process needs it but `riven dev`, which brings a database of its own where it is absent.",
        "",
    )
    database_pool_size: int = _setting(
        partial(_number, 4, 500), 10, "Connections that a process opens to it, at most.", "10"
    )
    host: str = _setting(_text, "127.0.0.1", "Address on which the API listens.", "127.0.0.1")
    port: int = _setting(
        partial(_number, 0, 65_535), 8642, "Port on which the API listens; 0 takes a free one.", "8642"
    )
    engine: Literal["embedded", "temporal"] = _setting(
        _engine,
        "embedded",
        "What drives the runs: `embedded`, inside the workers, or `temporal`, a Temporal server that the processes reach "
        "at `RIVEN_TEMPORAL_ADDRESS`. The same for all processes of an installation.",
        "embedded",
    )

    # ---- the queue
    workflow_engine_enabled: bool = _setting(
        _switch,
        True,  # noqa: FBT003 - the default of a switch
        "Whether anything is claimed. With `false` starts are accepted and queued, nothing is claimed or resumed, what "
        "runs finishes and maintenance goes on.",
        "true",
    )
    dispatch_poll_interval: float = _setting(
        partial(_seconds, 0.01, _HOUR),
        5.0,
        "How often a worker looks for work when nobody wakes it: the fallback behind wake-ups.",
        "5s",
    )
    dispatch_batch_size: int = _setting(
        partial(_number, 1, 1_000), 50, "Executions that a worker claims at a time, at most.", "50"
    )
    queue_max_attempts: int = _setting(
        partial(_number, 1, 100),
        3,
        "Starts that an engine may refuse before the item is a dead letter; a workspace may set its own.",
        "3",
    )
    queue_stale_after: float = _setting(
        partial(_seconds, 0.1, _DAY),
        300.0,
        "An item that was claimed so long ago, and that its engine does not have yet, goes back in line.",
        "5m",
    )
    stale_sweep_interval: float = _setting(
        partial(_seconds, 0.05, _HOUR),
        60.0,
        "How often maintenance looks for such items. Those of dead processes are put back at once.",
        "60s",
    )

    # ---- workers
    worker_runs: int = _setting(
        partial(_number, 1, 100_000),
        200,
        "Runs that a worker drives at a time, at most; with Temporal see `RIVEN_TEMPORAL_CACHED_RUNS`.",
        "200",
    )
    worker_nodes: int = _setting(
        partial(_number, 1, 100_000), 1_000, "Nodes that a worker runs at a time, at most.", "1000"
    )
    worker_threads: int = _setting(
        partial(_number, 1, 1_000),
        32,
        "Plain (not async) functions that a worker runs at a time, at most.",
        "32",
    )
    functions: tuple[str, ...] = _setting(
        _words,
        (),
        "Modules with functions for `python` nodes: importable names or Python files, separated by commas. What "
        "installed packages register is there anyway.",
        "",
    )
    http_allow: tuple[str, ...] = _setting(
        _allowed,
        (),
        "What `http_request` nodes may reach although it is private: hosts, host:port, addresses or networks such as "
        "`10.0.0.0/8`, separated by commas.",
        "",
    )
    lease_ttl: float = _setting(
        partial(_seconds, 0.5, _HOUR),
        15.0,
        "A process that gives no sign of life for so long is taken for dead: its runs go back in line. The same for all "
        "processes of an installation.",
        "15s",
    )
    drain_timeout: float = _setting(
        partial(_seconds, 0, _DAY),
        20.0,
        "After SIGTERM: how long runs may go on before they are handed back.",
        "20s",
    )

    # ---- the Temporal engine
    temporal_address: str | None = _setting(
        _host_and_port,
        None,
        "Address of Temporal's gRPC service, such as `temporal.example:7233`. Every process needs it with "
        "`RIVEN_ENGINE=temporal`, but `riven dev`, which brings a server of its own where it is absent. These settings are "
        "refused with the embedded engine.",
        "",
    )
    temporal_namespace: str = _setting(
        _name, "default", "The namespace there in which the workflows are; it must exist.", "default"
    )
    temporal_task_queue: str = _setting(
        _name, "riven", "The task queue by which dispatchers and workers find each other.", "riven"
    )
    temporal_tls: bool | None = _setting(
        _switch,
        None,
        "Whether to speak TLS. By default if there is an API key, one of the following files, or a server name.",
        "",
    )
    temporal_tls_ca_file: str | None = _setting(
        _file, None, "Certificates (PEM) that Temporal's is checked against, instead of the system's.", ""
    )
    temporal_tls_cert_file: str | None = _setting(
        _file, None, "Certificate (PEM) by which Temporal knows riven; needs the key.", ""
    )
    temporal_tls_key_file: str | None = _setting(_file, None, "The key (PEM) of that certificate.", "")
    temporal_tls_server_name: str | None = _setting(
        _name, None, "The name that Temporal's certificate must have, if it is not that of the address.", ""
    )
    temporal_api_key: str | None = _setting(_text, None, "API key for Temporal; sent with every request.", "")

    temporal_cached_runs: int = _setting(
        partial(_number, 1, 100_000),
        1_000,
        "Runs that a worker keeps in memory, at most; one that is not there is replayed from its history.",
        "1000",
    )
    temporal_sticky_timeout: float = _setting(
        partial(_seconds, 0.1, _HOUR),
        5.0,
        "How long a run waits for the worker that has it in memory, before any other takes it up: after a worker's death, "
        "too.",
        "5s",
    )

    # ---- what runs inherit that say nothing themselves
    retry_max_attempts: int = _setting(
        partial(_number, 1, 1_000),
        3,
        "Attempts of a node. Stored with an execution when it is first admitted.",
        "3",
    )
    retry_initial_interval: float = _setting(
        partial(_seconds, 0, _DAY), 1.0, "Time before its second attempt.", "1s"
    )
    retry_multiplier: float = _setting(
        partial(_factor, 1, 100), 2.0, "How much longer each further wait is.", "2"
    )
    retry_max_interval: float = _setting(partial(_seconds, 0, 30 * _DAY), 30.0, "The longest wait.", "30s")
    node_timeout: float = _setting(
        partial(_seconds, 0.001, 365 * _DAY),
        300.0,
        "Time that an attempt of a node has; `http_request` has 30 s of its own.",
        "5m",
    )

    # ---- what is kept
    history_retention: float = _setting(
        partial(_seconds, 0, _TEN_YEARS),
        0.0,
        "How long finished executions are kept, with their nodes and outputs; 0 keeps them for ever.",
        "0",
    )

    # ---- who may ask
    rate_limit: float = _setting(
        partial(_factor, 0, 1_000_000),
        10_000.0,
        "Requests a second that one credential may make; 0 sets no limit.",
        "10000",
    )
    oidc_issuer: str | None = _setting(
        _web_address, None, "Issuer of the tokens (JWT) that are accepted beside API keys.", ""
    )
    oidc_audience: str | None = _setting(
        _text, None, "The audience that these tokens must name; needed with an issuer.", ""
    )
    oidc_jwks_url: str | None = _setting(
        _web_address, None, "Where the issuer's keys are; by default its discovery document says so.", ""
    )

    # ---- what it tells
    log_format: Literal["json", "text"] = _setting(
        _log_format, "json", "Form of the log's lines: `json` or `text`.", "json"
    )
    log_level: Literal["debug", "info", "warning", "error"] = _setting(
        _log_level, "info", "The least that is logged: `debug`, `info`, `warning` or `error`.", "info"
    )

    # ---- for tests
    test_crash_at: tuple[str, int] | None = _setting(
        _crash,
        None,
        "For tests of riven itself: the process kills itself at the n-th passage of a named place (`after_claim:3`).",
        "",
    )

    @classmethod
    def from_environment(cls, **changes: str) -> Self:
        """`changes` are variables that the command line has decided. Raises SettingsError."""
        return cls.read({**os.environ, **changes})  # noqa: TID251 - the one place

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Raises SettingsError, with everything that is wrong."""
        known = {variable(each.name): each for each in fields(cls)}
        values: dict[str, Any] = {}
        problems: list[str] = []
        for name in sorted(environment):
            if not name.startswith(PREFIX) or name in CLIENT_VARIABLES or not environment[name].strip():
                continue
            setting = known.get(name)
            if setting is None:
                problems.append(_unknown(name, [*known, *CLIENT_VARIABLES]))
                continue
            try:
                values[setting.name] = setting.metadata["parse"](environment[name].strip())
            except ValueError as error:
                problems.append(f"{name}: {error}")
        problems += _contradictions(cls(**values), given=values)
        if problems:
            raise SettingsError(tuple(problems))
        return cls(**values)

    def database(self) -> str:
        """Its address, for a process that cannot do without. Raises SettingsError."""
        if self.database_url is None:
            example = "write the address of a PostgreSQL database, such as postgresql://user:password@host:5432/riven"
            raise SettingsError((f"{PREFIX}DATABASE_URL: it is missing; {example}",))
        return self.database_url

    def temporal(self) -> str:
        """The address of Temporal, for a process that cannot do without. Raises SettingsError."""
        if self.temporal_address is None:
            example = "write host:port of a Temporal server, such as temporal.example:7233"
            raise SettingsError((f"{PREFIX}TEMPORAL_ADDRESS: it is missing; {example}",))
        return self.temporal_address


def child_environment(**changes: str) -> dict[str, str]:
    """What a process that we start inherits: all that we have, with these changes."""
    return {**os.environ, **changes}  # noqa: TID251 - the one place


def variable(name: str) -> str:
    """The name in the environment of a field."""
    return f"{PREFIX}{name.upper()}"


def _unknown(name: str, known: list[str]) -> str:
    short = name.removeprefix(PREFIX)
    for beginning, why in _LATER.items():
        if short.startswith(beginning):
            return f"{name}: {why}; unset it"
    return f"{name}: there is no such setting{hint(name, known)}"


def _contradictions(settings: Settings, given: Container[str]) -> list[str]:
    found = _temporal_contradictions(settings, given)
    if (settings.oidc_issuer is None) != (settings.oidc_audience is None):
        missing, given = ("AUDIENCE", "ISSUER") if settings.oidc_audience is None else ("ISSUER", "AUDIENCE")
        found.append(f"{PREFIX}OIDC_{missing}: it is missing, though {PREFIX}OIDC_{given} is set")
    if settings.oidc_jwks_url is not None and settings.oidc_issuer is None:
        found.append(f"{PREFIX}OIDC_ISSUER: it is missing, though {PREFIX}OIDC_JWKS_URL is set")
    if settings.retry_max_interval < settings.retry_initial_interval:
        found.append(
            f"{PREFIX}RETRY_MAX_INTERVAL: it is shorter than {PREFIX}RETRY_INITIAL_INTERVAL; write a longer one"
        )
    return found


def _temporal_contradictions(settings: Settings, given: Container[str]) -> list[str]:
    names = [
        each.name for each in fields(settings) if each.name.startswith("temporal_") and each.name in given
    ]
    if settings.engine != "temporal":
        return [f"{variable(name)}: it has no effect with the embedded engine; unset it" for name in names]
    found = []
    certificate, key = settings.temporal_tls_cert_file, settings.temporal_tls_key_file
    if (certificate is None) != (key is None):
        missing, there = ("KEY", "CERT") if key is None else ("CERT", "KEY")
        found.append(
            f"{PREFIX}TEMPORAL_TLS_{missing}_FILE: it is missing, though {PREFIX}TEMPORAL_TLS_{there}_FILE is set"
        )
    if settings.temporal_tls is False:
        found += [
            f"{variable(name)}: it has no effect, for {PREFIX}TEMPORAL_TLS is false; unset one of them"
            for name in names
            if name.startswith("temporal_tls_")
        ]
    return found
