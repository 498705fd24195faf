"""The documents of scenarios, with the node types and functions that these use."""

from tests.conformance.scenario import Scenario
from tests.conformance.scripted import Scripted

from riven.core.errors import InvalidDocumentError
from riven.documents.load import LoadedDocument, load_document
from riven.nodes.registry import Registry

REGISTRY = Registry.discover().with_types(Scripted)


def loaded(scenario: Scenario) -> LoadedDocument:
    """The scenario's document with what it calls. Raises InvalidDocumentError."""

    def find(name: str, version: int | None) -> str | None:
        del version
        return scenario.calls.get(name)

    document = load_document(scenario.text, registry=REGISTRY, calls=find)
    if not document.valid:
        raise InvalidDocumentError(document.problems)
    return document
