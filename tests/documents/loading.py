"""Loads documents for tests, and shows their problems shortly."""

from collections.abc import Collection, Mapping

from riven.core.errors import Severity
from riven.documents.load import LoadedDocument, load_document
from riven.nodes.registry import Registry

REGISTRY = Registry()


def load(
    text: str | bytes,
    *,
    calls: Mapping[str, str] | None = None,
    functions: Collection[str] | None = None,
    registry: Registry = REGISTRY,
) -> LoadedDocument:
    """`calls`: the texts of other workflows by name, or by `name@version`."""

    def resolve(name: str, version: int | None) -> str | None:
        assert calls is not None
        return calls.get(name if version is None else f"{name}@{version}")

    return load_document(
        text, registry=registry, calls=None if calls is None else resolve, functions=functions
    )


def shown(loaded: LoadedDocument) -> list[str]:
    """`line path code`, warnings with a question mark."""
    return [
        f"{problem.line} {problem.path} {problem.code}{'?' if problem.severity is Severity.WARNING else ''}"
        for problem in loaded.problems
    ]


def nodes(text: str) -> str:
    """A document with these nodes, which begin on line 3."""
    return f"name: x\nnodes:\n{text}"
