"""What a node type is.

An author writes one class and one entry point; everything else (forms, schema, validation, retries, recording) is
derived from what the class declares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from riven.core.errors import ErrorClass, RivenError
from riven.core.graph import SUCCESS, NodeKind
from riven.core.ids import ExecutionId, NodePath
from riven.wire.document import Json


def _field_title(name: str, _: object) -> str:
    return name.strip("_").replace("_", " ").capitalize()


class Config(BaseModel):
    """Configuration of a node type: the `with` of a document. Fields are camelCase outside, unknown ones refused."""

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        field_title_generator=_field_title,
        populate_by_name=False,
        frozen=True,
        strict=False,
        allow_inf_nan=False,
    )


ConfigT = TypeVar("ConfigT", bound=BaseModel)
ConfigClass: TypeAlias = type[ConfigT]
"""Spelled out here, because inside `NodeType` the name `type` is the node's."""


class NodeError(RivenError):
    """A node failed, classified. `retryable` None: as the class says."""

    def __init__(
        self,
        error_class: ErrorClass,
        message: str,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.error_class = error_class
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after
        """Seconds that the other side asked us to wait."""
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A bare CEL condition in a configuration, such as `if`. Call it for its truth: it is evaluated then, not before.

    A document holds text or a boolean; `effects` binds it to the values of the attempt.
    """

    source: str
    evaluate: Callable[[], bool] | None = None

    def __call__(self) -> bool:
        if self.evaluate is None:
            raise NodeError(ErrorClass.INTERNAL_ERROR, f"the condition {self.source!r} was not bound")
        return self.evaluate()

    @classmethod
    def _accept(cls, value: object) -> "Predicate":
        if isinstance(value, cls):
            return value
        if isinstance(value, bool):
            return cls("true" if value else "false")
        if isinstance(value, str):
            return cls(value)
        raise ValueError("write a CEL expression as text, or true or false")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls._accept)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": ["string", "boolean"], "format": "cel"}


@dataclass(frozen=True, slots=True)
class NodeResult:
    """What an attempt leaves: JSON, and one of the type's outcome labels."""

    output: Json = None
    outcome: str = SUCCESS


@dataclass(frozen=True, slots=True)
class Waiting:
    """A wait, signal or approval has begun. `due`: milliseconds since the epoch, None: never."""

    due: int | None = None
    signal: str | None = None
    """The name of the message that a `signal` waits for; None for a wait, and for an approval: its path names it."""
    output: Json = None
    """The node's output if nothing but time ends it."""


class Clock(Protocol):
    """Milliseconds since the epoch; `main` and `cli` inject the real one."""

    def now(self) -> int: ...


def _as_it_is(value: Json) -> Json:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """What a node may know and use beside its configuration."""

    execution_id: ExecutionId
    path: NodePath
    attempt: int
    clock: Clock
    idempotency_key: str
    """The same for every attempt of this path, also after a crash."""
    services: Mapping[type[Any], Any] = field(default_factory=dict)
    """Shared tools by class, such as the HTTP client; see `service`."""
    redact: Callable[[Json], Json] = _as_it_is
    """Hides the secrets of this attempt. For what leaves by another door than output and error, such as a log."""

    def heartbeat(self) -> None:
        """Say that a long attempt is alive. Engines that watch attempts override what it does."""
        beat = self.services.get(Heartbeat)
        if beat is not None:
            beat(self.path)

    def service(self, kind: "type[ServiceT]") -> "ServiceT":
        found = self.services.get(kind)
        if not isinstance(found, kind):
            raise NodeError(ErrorClass.INTERNAL_ERROR, f"this worker has no {kind.__name__}")
        return found


ServiceT = TypeVar("ServiceT")


class Heartbeat(Protocol):
    def __call__(self, path: NodePath) -> None: ...


class NodeType(Generic[ConfigT]):
    """One type of node. Subclass it, declare the class variables, write `run` as a coroutine.

    Cancellation and timeouts arrive as `asyncio.CancelledError`: clean up and let it pass. Raise `NodeError` for a
    classified failure; anything else counts as EXECUTION_ERROR. An instance is shared by all runs: keep no state.
    """

    type: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    category: ClassVar[str] = "Other"
    icon: ClassVar[str] = "box"
    kind: ClassVar[NodeKind] = NodeKind.ACTION
    config: ConfigClass[ConfigT]
    output: ClassVar[Mapping[str, Json]] = {}
    """JSON Schema of the output; empty: anything."""
    outcomes: ClassVar[tuple[str, ...]] = (SUCCESS,)
    pure: ClassVar[bool] = False
    """Short, without effect outside and safe to repeat: needs no journalled attempt of its own and is not retried."""
    default_timeout: ClassVar[float | None] = None
    """Seconds for one attempt; None: the installation's NODE_TIMEOUT."""
    expression_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of `with` that hold bare CEL and arrive as `Predicate`: `if`, or `cases[].if` for every element."""
    static_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that must be written out: the graph is built from them before anything runs, so no templates."""

    def labels(self, config: Mapping[str, Json]) -> tuple[str, ...]:  # noqa: ARG002 - for those that override it
        """The outcome labels with this (unresolved) configuration; `switch` has its case names."""
        return self.outcomes

    async def run(self, config: ConfigT, context: NodeContext) -> NodeResult:
        """One attempt of an action."""
        raise NotImplementedError

    def begin(self, config: ConfigT, context: NodeContext) -> Waiting:
        """The start of a wait, signal or approval."""
        raise NotImplementedError
