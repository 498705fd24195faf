"""What authors of functions and of node types import, and nothing else of riven.

A function for `python` nodes:

    from riven.authoring import function

    @function(name="crm.lookup")
    def lookup(customer: str, limit: int = 10) -> list[dict]: ...

A node type of one's own, registered under the entry-point group `riven.nodes`:

    from riven.authoring import Config, NodeContext, NodeResult, NodeType
"""

from riven.core.errors import ErrorClass
from riven.core.graph import NodeKind
from riven.nodes.contract import (
    Clock,
    Config,
    NodeContext,
    NodeError,
    NodeResult,
    NodeType,
    Predicate,
    Waiting,
)
from riven.nodes.fields import Duration, Text, Timestamp
from riven.nodes.function import FunctionContext, FunctionError, function
from riven.nodes.http_client import HttpAnswer, HttpCall, HttpClient
from riven.wire.document import Json

__all__ = [
    "Clock",
    "Config",
    "Duration",
    "ErrorClass",
    "FunctionContext",
    "FunctionError",
    "HttpAnswer",
    "HttpCall",
    "HttpClient",
    "Json",
    "NodeContext",
    "NodeError",
    "NodeKind",
    "NodeResult",
    "NodeType",
    "Predicate",
    "Text",
    "Timestamp",
    "Waiting",
    "function",
]
