import logging
from dataclasses import replace

import pytest

from riven.nodes.builtin.log import Log, LogConfig
from riven.nodes.contract import NodeError
from riven.nodes.testing import check_node_type, node_context, run_node
from riven.wire.document import Json


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
async def test_writes_a_structured_line_at_its_level(level: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "riven.workflow")
    result = await run_node(
        Log, {"message": "100% of\n%s", "level": level, "data": {"a": 1}}, path="each[1].tell"
    )
    assert result.output == {"message": "100% of\n%s"}
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == (
        "riven.workflow",
        level.upper(),
        "100% of\n%s",
    )
    assert (record.executionId, record.nodePath, record.data) == ("test-execution", "each[1].tell", {"a": 1})  # type: ignore[attr-defined]


@pytest.mark.parametrize(("message", "text"), [(5, "5"), (True, "true"), ({"a": [1]}, '{"a":[1]}')])
async def test_whatever_a_template_gives_is_written_out(message: Json, text: str) -> None:
    assert (await run_node(Log, {"message": message})).output == {"message": text}


async def test_secrets_stay_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "riven.workflow")
    hiding = replace(node_context(), redact=lambda value: "***" if value else value)
    await Log().run(LogConfig(message="s3cret", data={"key": "s3cret"}), hiding)
    (record,) = caplog.records
    assert (record.getMessage(), record.data) == ("***", "***")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "config", [{}, {"message": None}, {"message": "x", "level": "warn"}, {"message": "x", "grade": "info"}]
)
async def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(NodeError):
        await run_node(Log, config)


def test_keeps_the_contract_and_is_not_pure() -> None:
    check_node_type(Log)
    assert not Log.pure
