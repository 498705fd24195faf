"""Whether a class keeps the contract of node types, and what it breaks, in words for its author."""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from riven.core.graph import RESERVED_LABELS, NodeKind
from riven.nodes.contract import NodeType

_NAME = re.compile(r"[a-z][a-z0-9_]*(?:[.-][a-z0-9_]+)*", re.ASCII)
_WAITS = frozenset({NodeKind.WAIT, NodeKind.SIGNAL})


def contract_faults(candidate: object) -> tuple[str, ...]:
    """Everything in which a class (or an instance) breaks the contract; empty when it keeps it."""
    cls = candidate if isinstance(candidate, type) else type(candidate)
    if not issubclass(cls, NodeType):
        return (f"{cls.__module__}.{cls.__qualname__} is not a subclass of riven.authoring.NodeType",)
    return tuple(_faults(cls))


def schema_fault(cls: type[NodeType[Any]]) -> str | None:
    """Why no JSON Schema can be made of the configuration; asked of foreign types alone, as it takes a millisecond."""
    try:
        cls.config.model_json_schema()
    except Exception as error:  # noqa: BLE001 - a foreign model may raise anything of its own
        return f"`config` has no JSON Schema: {type(error).__name__}: {error}"
    return None


def _faults(cls: type[NodeType[BaseModel]]) -> Iterator[str]:
    name = getattr(cls, "type", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > 128:
        yield f"`type` must be a name in small letters such as 'acme.lookup', not {name!r}"
    for field in ("title", "description", "category", "icon"):
        text = getattr(cls, field, None)
        if not isinstance(text, str) or not text.strip():
            yield f"`{field}` must be a text"
    if not isinstance(getattr(cls, "kind", None), NodeKind):
        yield "`kind` must be a NodeKind"
    if not isinstance(getattr(cls, "output", None), Mapping):
        yield "`output` must be a JSON Schema (a mapping)"
    yield from _label_faults(cls)
    yield from _config_faults(cls)
    yield from _method_faults(cls)
    timeout = cls.default_timeout
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        yield "`default_timeout` must be a number of seconds above 0, or None"


def _label_faults(cls: type[NodeType[BaseModel]]) -> Iterator[str]:
    labels = cls.outcomes
    if not isinstance(labels, tuple) or not labels:
        yield "`outcomes` must be a tuple of at least one label"
        return
    for label in labels:
        if not isinstance(label, str) or not label.strip():
            yield f"the outcome {label!r} must be a text"
        elif label in RESERVED_LABELS and not (label == "default" and cls.labels is not NodeType.labels):
            yield f"the outcome {label!r} is reserved: edges use it for something else"
    if len(set(map(str, labels))) != len(labels):
        yield "`outcomes` names a label twice"


def _config_faults(cls: type[NodeType[BaseModel]]) -> Iterator[str]:
    config = getattr(cls, "config", None)
    if not (isinstance(config, type) and issubclass(config, BaseModel)):
        yield "`config` must be a class derived from riven.authoring.Config"
        return
    if config.model_config.get("extra") != "forbid":
        yield "`config` must refuse unknown fields: derive it from riven.authoring.Config"
    known = {field.alias or name for name, field in config.model_fields.items()}
    for kind in ("static_fields", "expression_fields"):
        for path in getattr(cls, kind):
            first = re.split(r"[.\[]", str(path), maxsplit=1)[0]
            if first not in known:
                yield f"`{kind}` names {path!r}, which `config` does not have"


def _method_faults(cls: type[NodeType[BaseModel]]) -> Iterator[str]:
    if cls.kind is NodeKind.ACTION:
        if cls.run is NodeType.run:
            yield "`run` is missing"
        elif not inspect.iscoroutinefunction(cls.run):
            yield "`run` must be a coroutine: write `async def run(self, config, context)`"
    elif cls.kind in _WAITS and cls.begin is NodeType.begin:
        yield "`begin` is missing"
    try:
        inspect.signature(cls).bind()
    except (TypeError, ValueError):
        yield "it must be made without arguments: shared tools come with the context"
