"""One line for each event, whatever somebody writes into it."""

import json
import logging
from collections.abc import Iterator

import pytest

from riven.telemetry.logs import LONGEST, LineHandler, configure_logging


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("riven.test")
    before = (logger.handlers, logger.propagate, logger.level)
    logger.handlers, logger.propagate = [], False
    logger.setLevel(logging.INFO)
    yield logger
    logger.handlers, logger.propagate = before[:2]
    logger.setLevel(before[2])


def lines_of(logger: logging.Logger, form: str) -> list[str]:
    """Lines as they are written from now on; each must be one."""
    lines: list[str] = []

    def write(line: bytes) -> None:
        text = line.decode()
        assert text.endswith("\n")
        assert text.count("\n") == 1
        lines.append(text[:-1])

    logger.addHandler(LineHandler(form, {"process": "worker"}, write))  # type: ignore[arg-type]
    return lines


def test_json_has_the_event_and_its_fields_beside_each_other(logger) -> None:
    lines = lines_of(logger, "json")
    logger.info("dispatched", extra={"executionId": "e1", "queueId": "q1", "count": 3})
    line = json.loads(lines[0])
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "INFO",
        "event": "dispatched",
        "process": "worker",
        "executionId": "e1",
        "queueId": "q1",
        "count": 3,
    }


def test_text_has_the_same_in_one_line_for_people(logger) -> None:
    lines = lines_of(logger, "text")
    logger.warning(
        "node_failed", extra={"executionId": "e1", "error": {"type": "T", "message": "a b"}, "n": None}
    )
    at, rest = lines[0].split(" ", 1)
    assert at.endswith("Z")
    assert rest == (
        'WARNING node_failed process=worker executionId=e1 error={"type":"T","message":"a b"} n=null'
    )


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(
    "hostile",
    [
        "a\nINFO dispatched executionId=forged",
        'x" event="forged',
        "\x1b[2J\r\x00\x85\u2028",
        "\ud800",
        "x" * 200_000,
    ],
)
def test_a_value_cannot_look_like_another_line(logger, form, hostile) -> None:
    lines = lines_of(logger, form)
    logger.info("node_failed", extra={"error": hostile, "data": {"deep": [hostile, {"x": hostile}]}})
    (line,) = lines
    assert len(line) < 100_000
    assert line.isprintable() or form == "json"
    assert not any(c in line for c in "\r\x00\x1b")
    if form == "json":
        assert json.loads(line)["event"] == "node_failed"
    else:
        assert line.split(" ")[2] == "node_failed"


def test_what_is_too_long_is_cut_and_says_so(logger) -> None:
    lines = lines_of(logger, "json")
    logger.info("node_failed", extra={"error": "x" * (LONGEST + 5)})
    assert json.loads(lines[0])["error"] == "x" * LONGEST + "… (5 more)"


def test_a_log_node_can_make_no_line_look_like_an_event(logger) -> None:
    lines = lines_of(logger, "json")
    workflow = logging.getLogger("riven.workflow")
    handler = logger.handlers[-1]
    workflow.addHandler(handler)
    level, propagate = workflow.level, workflow.propagate
    workflow.setLevel(logging.INFO)
    workflow.propagate = False
    try:
        workflow.info("%s", "dispatched", extra={"executionId": "e1", "nodePath": "tell", "data": {"a": 1}})
    finally:
        workflow.removeHandler(handler)
        workflow.setLevel(level)
        workflow.propagate = propagate
    line = json.loads(lines[0])
    assert (line["event"], line["message"]) == ("workflow_log", "dispatched")
    assert (line["executionId"], line["nodePath"], line["data"]) == ("e1", "tell", {"a": 1})


def test_what_libraries_say_is_a_message() -> None:
    lines: list[str] = []
    handler = LineHandler("json", {}, lambda line: lines.append(line.decode()))
    handler.handle(
        logging.makeLogRecord({"name": "asyncio", "msg": "slow %s", "args": ("x",), "levelname": "ERROR"})
    )
    line = json.loads(lines[0])
    assert (line["event"], line["logger"], line["message"]) == ("log", "asyncio", "slow x")


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_traceback_is_a_field(logger, form) -> None:
    lines = lines_of(logger, form)
    try:
        int("no")
    except ValueError:
        logger.exception("run_broke", extra={"executionId": "e1"})
    assert "ValueError: invalid literal" in lines[0]


def test_a_field_cannot_replace_what_the_line_is_made_of(logger) -> None:
    lines = lines_of(logger, "json")
    logger.info("dispatched", extra={"event": "forged", "level": "forged", "at": "forged"})
    line = json.loads(lines[0])
    assert (line["event"], line["level"]) == ("dispatched", "INFO")
    assert line["at"] != "forged"


@pytest.mark.parametrize("form", ["json", "text"])
def test_anything_can_be_a_field(logger, form) -> None:
    lines = lines_of(logger, form)
    logger.info("dispatched", extra={"one": object(), "two": {3: {1, 2}}, "three": float("nan")})
    assert len(lines) == 1


def test_configured_once_everything_goes_through_one_handler() -> None:
    root, ours = logging.getLogger(), logging.getLogger("riven")
    before = (root.handlers[:], root.level, ours.level)
    flags = (logging._srcfile, logging.logThreads, logging.logProcesses, logging.logMultiprocessing)
    lines: list[bytes] = []
    try:
        configure_logging("text", "warning", process="api", write=lines.append)
        logging.getLogger("riven.db").info("quiet")
        logging.getLogger("riven.db").warning("database_away", extra={"error": "gone"})
        logging.getLogger("uvicorn.error").info("quiet")
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])
        ours.setLevel(before[2])
        logging._srcfile, logging.logThreads, logging.logProcesses, logging.logMultiprocessing = flags
        logging.captureWarnings(capture=False)
    assert len(lines) == 1
    assert lines[0].endswith(b" WARNING database_away process=api error=gone\n")
