"""How a run ended, in words."""

import json
from dataclasses import dataclass

import orjson

from riven.cli.lettering import printable
from riven.cli.quantities import count_words, duration_words
from riven.cli.wording import error_words
from riven.core.messages import ExecutionStatus, NodeStatus
from riven.wire.document import Json

_NAMED = 12
_MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class Ending:
    """The object of `riven run --json`, read for people."""

    result: dict[str, Json]

    @property
    def status(self) -> ExecutionStatus:
        return ExecutionStatus(self.result["status"])

    @property
    def name(self) -> str:
        return str(self.result["workflow"]["name"])

    def plain_line(self) -> str:
        """Name, status, time, and why or with which output."""
        parts = [self.name, self.status.value, duration_words(self.result["durationMs"])]
        if self.status is ExecutionStatus.COMPLETED:
            parts.append(f"output: {json_text(self.result['output'])}")
        else:
            parts += [part for part in (self._error(), self._completed()) if part]
        return "  ".join(parts)

    def sentence(self) -> str:
        """The same for a terminal, where the nodes are in view and the output follows."""
        parts = [f"{self.name} {self.status.value.lower()} in {duration_words(self.result['durationMs'])}"]
        if (error := self._error()) is not None:
            parts.append(error)
        if self.status is ExecutionStatus.CANCELED:
            parts.append(self._completed())
        return ": ".join(parts)

    def output_lines(self) -> list[str]:
        """The output, laid out; none if there is none."""
        output = self.result["output"]
        if output is None:
            return []
        lines = [printable(line) for line in json_text(output, indent=True).split("\n")]
        if len(lines) > _MOST_LINES:
            more = count_words(len(lines) - _MOST_LINES, "more line")
            lines = [*lines[:_MOST_LINES], f"… {more}; --json prints all"]
        return lines

    def _error(self) -> str | None:
        error = self.result["error"]
        words = error_words(error)
        if error is None or words is None:
            return None
        return f"{printable(error['node'])}: {words}" if error.get("node") else words

    def _completed(self) -> str:
        nodes = self.result["nodes"]
        done = [node["path"] for node in nodes if node["status"] == NodeStatus.COMPLETED]
        if not done:
            return "nothing had completed"
        names = ", ".join(printable(path) for path in done[:_NAMED])
        more = f" and {len(done) - _NAMED:,} more" if len(done) > _NAMED else ""
        return f"completed: {names}{more} ({len(done):,} of {count_words(len(nodes), 'node')})"


def json_text(value: Json, *, indent: bool = False) -> str:
    return json_bytes(value, indent=indent).decode("utf-8")


def json_bytes(value: Json, *, indent: bool = False) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else 0)
    except TypeError:  # a lone surrogate, which JSON can hold and UTF-8 cannot
        return json.dumps(value, indent=2 if indent else None).encode("ascii")
