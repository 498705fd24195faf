import asyncio
import contextlib
import threading

from tests.effects.kit import Free, FreeConfig
from tests.engines.embedded.kit import Running, Stuck, by_path, settle, statuses

from riven.engines.job import GRACE
from riven.nodes.contract import NodeContext, NodeResult
from riven.nodes.function import function


async def test_a_node_that_takes_too_long_times_out():
    result = await Running(Stuck).run(
        "name: x\nnodes: {a: {type: stuck, timeout: 2s, retry: {maxAttempts: 2, initialInterval: 1s}}}"
    )

    assert result["error"]["type"] == "TIMEOUT"
    assert by_path(result)["a"]["durationMs"] == 5_000


async def test_nodes_in_line_are_canceled_without_having_begun():
    running = Running(Stuck, max_in_flight=2)
    task = running.start(
        "name: x\nnodes: {a: {type: stuck}, b: {type: stuck}, c: {type: stuck}, d: {type: stuck}}"
    )
    await settle()
    running.engine.cancel()
    result = await task

    assert set(statuses(result).values()) == {"CANCELED"}
    assert [len(node["attempts"]) for node in result["nodes"]] == [1, 1, 0, 0]


async def test_an_attempt_that_refuses_to_end_is_abandoned():
    release = asyncio.Event()
    refused = asyncio.Event()

    class Refusing(Free):
        type = "refusing"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    refused.set()
            return NodeResult("too late")

    running = Running(Refusing, max_in_flight=1)
    task = running.start(
        "name: x\nnodes: {a: {type: refusing}, b: {type: echo, needs: [{node: a, outcome: always}]}}"
    )
    await settle()
    running.engine.cancel()
    await refused.wait()
    assert not task.done()
    running.time.advance(GRACE)
    result = await task

    assert (result["status"], statuses(result)) == ("CANCELED", {"a": "CANCELED", "b": "CANCELED"})
    release.set()
    await settle()


async def test_an_attempt_that_refuses_its_timeout_frees_its_place():
    release = asyncio.Event()

    class Refusing(Free):
        type = "refusing"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return NodeResult("too late")

    running = Running(Refusing, max_in_flight=1)
    result = await running.run(
        "name: x\nnodes: {a: {type: refusing, timeout: 1s, retry: {maxAttempts: 1}, continueOnError: true},"
        " b: {type: echo, needs: [a]}}"
    )

    assert statuses(result) == {"a": "FAILED", "b": "COMPLETED"}
    assert by_path(result)["a"]["error"]["type"] == "TIMEOUT"
    assert result["durationMs"] == 1_000 + GRACE
    release.set()
    await settle()


async def test_a_plain_function_that_takes_too_long_is_abandoned():
    go_on = threading.Event()

    @function(name="tests.block")
    def block() -> str:
        go_on.wait(30)
        return "too late"

    running = Running(functions=[block])
    task = running.start(
        "name: x\nnodes: {a: {type: python, with: {function: tests.block}, timeout: 1s, retry: {maxAttempts: 1}}}"
    )
    while not running.pool.busy:  # noqa: ASYNC110 - a thread starts
        await asyncio.sleep(0.001)
    result = await running.finish(task)

    assert result["error"]["type"] == "TIMEOUT"
    assert running.pool.abandoned == 1
    go_on.set()
    while running.pool.busy:  # noqa: ASYNC110 - and ends
        await asyncio.sleep(0.001)
    running.pool.stop()
