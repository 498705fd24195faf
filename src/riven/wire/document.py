"""The normalised document: what a version stores, what effects read templates from. Additive change only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""None, bool, int within 64 bits, finite float, str, list or dict with str keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDocument:
    """What the author wrote; None where the execution's default holds. Intervals in milliseconds."""

    max_attempts: int | None = None
    initial_interval: int | None = None
    multiplier: float | None = None
    max_interval: int | None = None
    jitter: float | None = None
    max_duration: int | None = None


@dataclass(frozen=True, slots=True)
class EdgeDocument:
    source: str
    target: str
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyDocument:
    nodes: Mapping[str, "NodeDocument"] = field(default_factory=dict)
    edges: tuple[EdgeDocument, ...] = ()
    output: Json = None
    has_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDocument:
    """`needs` has become edges. `config` is the document's `with`, templates and all."""

    key: str
    type: str
    name: str | None = None
    config: Mapping[str, Json] = field(default_factory=dict)
    when: str | bool | None = None
    join: str = "none_failed"
    at_least: int = 0
    retry: RetryDocument | None = None
    timeout: int | None = None
    continue_on_error: bool = False
    body: BodyDocument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole workflow. `calls` holds the documents that its `call` nodes name, by name, theirs included."""

    name: str
    description: str | None = None
    input: Mapping[str, Json] | None = None
    vars: Mapping[str, Json] = field(default_factory=dict)
    timeout: int | None = None
    on_failure: str = "fail_fast"
    nodes: Mapping[str, NodeDocument] = field(default_factory=dict)
    edges: tuple[EdgeDocument, ...] = ()
    output: Json = None
    has_output: bool = False
    calls: Mapping[str, "Document"] = field(default_factory=dict)
