"""Why an execution does not go on, in words."""

from collections.abc import Mapping

from riven.cli.lettering import printable
from riven.wire.document import Json

_PLAIN = {
    "paused": "paused",
    "approval": "waits for a decision",
    "retry": "a node is tried again",
    "dispatch_retry": "its start was refused and is tried again",
    "workspace_disabled": "the workspace is disabled",
    "engine_disabled": "the engine is switched off",
    "engine_down": "the engine is away",
    "worker_absent": "no worker runs",
    "worker_busy": "all workers are busy",
    "timer": "waits",
    "signal": "waits for a signal",
}


def waiting_words(waiting: Mapping[str, Json]) -> str:
    """Of the API's `{kind, since, until?, limit?, inUse?, holders?, position?}`."""
    kind = str(waiting.get("kind"))
    if kind == "workspace_limit":
        said = f"waits for a free slot: {waiting.get('inUse')} of {waiting.get('limit')} in use"
    else:
        said = _PLAIN.get(kind, kind)
    if waiting.get("position") is not None:
        said += f", position {waiting['position']}"
    if waiting.get("until") is not None:
        said += f", until {waiting['until']}"
    return printable(said)
