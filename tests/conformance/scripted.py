"""The node type `scripted`: does, attempt by attempt, what its configuration says. Any process can load this module.

with:
  labels: [red, blue]               # the outcomes it can leave by; `success` without
  attempts:                         # the n-th attempt does the n-th; the last one is repeated
    - {takes: 20ms, fail: NETWORK_ERROR, message: away, retryAfter: 0.5}
    - {outcome: red, output: {any: thing}}

Where the environment names a file in DEEDS, each attempt that begins leaves a line in it: execution, path, attempt.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from riven.authoring import Config, ErrorClass, NodeContext, NodeError, NodeResult, NodeType
from riven.core.graph import SUCCESS
from riven.nodes.fields import Duration
from riven.wire.document import Json


class ScriptedAttempt(Config):
    takes: Duration = 0
    output: Json = None
    outcome: str | None = None
    fail: ErrorClass | None = None
    message: str = "scripted failure"
    retryable: bool | None = None
    retry_after: float | None = None


class ScriptedConfig(Config):
    labels: tuple[str, ...] = (SUCCESS,)
    attempts: tuple[ScriptedAttempt, ...] = Field(default=(ScriptedAttempt(),), min_length=1)


class Scripted(NodeType[ScriptedConfig]):
    type = "scripted"
    title = "Scripted"
    description = "Does what a test tells it to."
    category = "Tests"
    config = ScriptedConfig
    static_fields: ClassVar = ("labels",)

    def labels(self, config: Mapping[str, Json]) -> tuple[str, ...]:
        return tuple(config.get("labels") or self.outcomes)

    async def run(self, config: ScriptedConfig, context: NodeContext) -> NodeResult:
        if deeds := os.environ.get("DEEDS"):  # noqa: TID251 - tests alone tell this process where to
            _note(deeds, f"{context.execution_id} {context.path} {context.attempt}")
        script = config.attempts[min(context.attempt, len(config.attempts)) - 1]
        if script.takes:
            await asyncio.sleep(script.takes / 1_000)
        if script.fail is not None:
            raise NodeError(
                script.fail, script.message, retryable=script.retryable, retry_after=script.retry_after
            )
        return NodeResult(script.output, script.outcome or config.labels[0])


def _note(file: str, line: str) -> None:
    """In one write, so that lines of several processes stay whole, and nothing is lost when this one is killed."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)
