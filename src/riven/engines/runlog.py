"""What the log tells of runs, whichever engine drives them."""

import logging
from collections.abc import Iterable, Sequence

from riven.core.errors import ErrorClass
from riven.core.messages import Command, NodeStatus, StartNode, Step
from riven.effects.recorder import ExecutionEnded, NodeSettled

_log = logging.getLogger("riven.engine")


def log_nodes(execution_id: str, commands: Iterable[Command], settled: Sequence[NodeSettled]) -> None:
    ids = {"executionId": execution_id}
    if _log.isEnabledFor(logging.INFO):
        ready = sum(1 for c in commands if isinstance(c, StartNode) and c.step is not Step.OUTPUT)
        if ready:
            _log.info("nodes_ready", extra={**ids, "count": ready})
    for node in settled:
        if node.status is NodeStatus.FAILED and not node.path.endswith("]"):
            _log.warning("node_failed", extra={**ids, "nodePath": node.path, "error": node.error})


def log_end(execution_id: str, end: ExecutionEnded) -> None:
    level = logging.INFO
    if end.error is not None and end.error["type"] == ErrorClass.INTERNAL_ERROR.value:
        level = logging.ERROR
    fields = {"executionId": execution_id, "status": end.status, "error": end.error}
    _log.log(level, "execution_finished", extra=fields)
