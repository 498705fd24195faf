"""What a process tells of itself: one line for each event, its ids as fields, as JSON or as text.

    {"at":"2026-11-19T08:30:00.125Z","level":"INFO","event":"dispatched","process":"worker","executionId":"…", …}
    2026-11-19T08:30:00.125Z INFO dispatched process=worker executionId=…

Code logs through the standard library: the message is the event's name out of `names`, `extra` its fields. What nodes of
the type `log` write, and what libraries say, is the field `message` of the events `workflow_log` and `log`: whoever may
write workflows can make no line look like one of ours.
"""

import contextlib
import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

import orjson

from riven.wire.times import to_rfc3339

LogFormat: TypeAlias = Literal["json", "text"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

WORKFLOW_LOG: Final = "riven.workflow"
"""The logger of `log` nodes."""
LONGEST: Final = 8_000
"""Characters of a text in a line; what is longer is cut, and says so."""
_LONGEST_LINE: Final = 60_000

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_EVENT: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_PLAIN: Final = re.compile(r"[^\s\"=\\\x00-\x1f\x7f-\x9f\u2028\u2029]+")

Write: TypeAlias = Callable[[bytes], object]


def configure_logging(form: LogFormat, level: LogLevel, *, process: str, write: Write | None = None) -> None:
    """Once a process. `write` is given whole lines; the standard error output by default."""
    handler = LineHandler(form, {"process": process}, write or _to_standard_error)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("riven").setLevel(level.upper())
    # What nobody reads of a record costs more than the line: the place in the source, and names of threads and tasks.
    logging._srcfile = None  # noqa: SLF001  # as the library's own advice has it
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    if hasattr(logging, "logAsyncioTasks"):
        logging.logAsyncioTasks = False
    logging.captureWarnings(capture=True)


class LineHandler(logging.Handler):
    def __init__(self, form: LogFormat, fields: Mapping[str, Any], write: Write) -> None:
        super().__init__()
        self._format = _json_line if form == "json" else _text_line
        self._fields = dict(fields)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(self._format(self._line(record)))
        except Exception:  # noqa: BLE001 - nothing that goes wrong with a line may stop what it tells of
            self.handleError(record)

    def _line(self, record: logging.LogRecord) -> dict[str, Any]:
        message = record.getMessage()
        ours = record.name.startswith("riven.") and record.name != WORKFLOW_LOG
        line: dict[str, Any] = {
            "at": to_rfc3339(int(record.created * 1_000)),
            "level": record.levelname,
        }
        if ours and _EVENT.fullmatch(message):
            line["event"] = message
        else:
            line["event"] = "workflow_log" if record.name == WORKFLOW_LOG else "log"
            line["message"] = message
            if line["event"] == "log":
                line["logger"] = record.name
        line |= self._fields
        for name, value in record.__dict__.items():
            if name not in _STANDARD and name not in line:
                line[name] = value
        if record.exc_info is not None and record.exc_info[1] is not None:
            line["exception"] = "".join(traceback.format_exception(record.exc_info[1]))
        return line


def _json_line(line: dict[str, Any]) -> bytes:
    text = _json(_short(line))
    if len(text) > _LONGEST_LINE:
        text = _json(_short(_without_long(line)))
    return text + b"\n"


def _text_line(line: dict[str, Any]) -> bytes:
    at, level, event, *fields = _short(line).items()
    parts = [at[1], level[1], event[1], *(f"{name}={_text(value)}" for name, value in fields)]
    return " ".join(parts)[:_LONGEST_LINE].encode("utf-8", "replace") + b"\n"


def _text(value: object) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return _escaped(_json(value).decode())


def _json(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError):  # half of a surrogate pair, too deep, too large a number
        return json.dumps(value, default=_plain, skipkeys=True).encode()


def _escaped(text: str) -> str:
    """JSON leaves some characters as they are that terminals and readers of lines take for more than a character."""
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _short(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _cut(value) if isinstance(value, str) else value for name, value in line.items()}


def _cut(text: str) -> str:
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… ({len(text) - LONGEST} more)"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()  # half of a surrogate pair


def _without_long(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str | int | float | None) else "(too long to be shown)"
        for name, value in line.items()
    }


def _plain(value: object) -> str:
    return _cut(str(value))


def _to_standard_error(line: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
        os.write(sys.stderr.fileno(), line)
