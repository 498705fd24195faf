"""The nodes of a run from rows, page by page; what people see is what `riven run --json` shows of the same document."""

import pytest
from tests.engines.embedded.workers import Worker, installation, worker
from tests.intake.steering import Stage, Steering

from riven.documents.load import load_document
from riven.engines.embedded.memory import MemoryEngine
from riven.nodes.function import function
from riven.nodes.functions import FunctionPool, Functions
from riven.queue.recover import hand_back
from riven.views.documents import Documents
from riven.views.executions import find_execution
from riven.views.nodes import changed_nodes, list_nodes

RICH = """
name: rich
nodes:
  first: {type: set, name: The first, with: {value: 1}}
  each:
    type: for_each
    needs: [first]
    with: {items: [3, 2, 1], concurrency: 2, onItemFailure: collect}
    body:
      nodes:
        poll:
          type: repeat
          with: {until: "iteration.index + 1 >= item"}
          body: {nodes: {look: {type: noop}}, output: "{{ iteration.index }}"}
        odd: {type: condition, needs: [poll], with: {if: "item % 2 == 1"}}
        fails: {type: fail, with: {message: "odd {{ item }}"}, needs: [{node: odd, outcome: "true"}]}
      output: "{{ steps.poll.output }}"
  chosen: {type: switch, needs: [each], with: {cases: [{name: a, if: "true"}, {name: b, if: "true"}]}}
  yes: {type: noop, needs: [{node: chosen, outcome: a}]}
  no: {type: noop, needs: [{node: chosen, outcome: b}]}
  unless: {type: noop, when: "false", needs: [chosen]}
  after: {type: noop, needs: [unless]}
  bad: {type: fail, with: {message: handled}, continueOnError: true, needs: [yes]}
  nap: {type: wait, with: {for: 20ms}, needs: [bad]}
output: "{{ steps.each.output.map(r, r.ok) }}"
"""
TIMES = ("startedAt", "finishedAt", "durationMs")


async def pages(here, execution_id, limit=1_000, documents=None):
    documents = documents or Documents()
    async with here.database.read() as connection:
        head = await find_execution(connection, execution_id)
        document = await documents.get(connection, head.version_id)
        found, after = [], None
        while True:
            page = await list_nodes(connection, execution_id, head.status, document, after=after, limit=limit)
            found.append(page.items)
            if page.after is None:
                return found
            assert len(page.items) <= limit
            after = page.after


async def nodes(here, execution_id, limit=1_000):
    return [node for page in await pages(here, execution_id, limit) for node in page]


def without_times(shown):
    return [
        {key: value for key, value in node.items() if key not in TIMES}
        | {"attempts": [{k: v for k, v in each.items() if k not in TIMES} for each in node["attempts"]]}
        | {key: node[key] is not None for key in TIMES}
        for node in shown
    ]


async def test_a_finished_run_is_shown_as_the_engine_in_memory_shows_it(database_url):
    async with installation(database_url) as here, worker(here) as at_work:
        execution_id = await here.start(RICH)
        await here.until(execution_id, "COMPLETED", "FAILED")
        found = await nodes(here, execution_id)
        engine = MemoryEngine(
            registry=here.registry,
            services={Functions: here.functions, FunctionPool: FunctionPool()},
            clock=at_work.engine.clock,
        )
        shown = await engine.run(load_document(RICH, registry=here.registry))
        assert [node["path"] for node in found] == [node["path"] for node in shown["nodes"]]
        naps = [listed[-1]["output"].pop("until") for listed in (found, shown["nodes"])]
        assert all(naps)
        assert without_times(found) == without_times(shown["nodes"])


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_of_any_size_give_the_same_nodes(database_url, limit):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(RICH)
        await here.until(execution_id, "COMPLETED", "FAILED")
        whole = await nodes(here, execution_id)
        assert await nodes(here, execution_id, limit) == whole
        assert all(len(page) == limit for page in (await pages(here, execution_id, limit))[:-1])


async def test_nodes_that_never_started_are_pending_and_canceled_once_the_run_is_over(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(RICH)
        found = await nodes(here, execution_id)
        assert {node["status"] for node in found} == {"PENDING"}
        assert [node["path"] for node in found] == [
            "first", "each", "chosen", "yes", "no", "unless", "after", "bad", "nap",
        ]  # fmt: skip
        assert (found[0]["type"], found[0]["name"], found[1]["name"]) == ("set", "The first", None)
        assert await nodes(here, execution_id, limit=2) == found
        await Steering(here).cancel(execution_id)
        assert {node["status"] for node in await nodes(here, execution_id)} == {"CANCELED"}


async def test_pages_through_a_run_under_way(database_url):
    stage = Stage()
    text = """
    name: under_way
    nodes:
      a: {type: noop}
      each:
        type: for_each
        with: {items: [0, 1, 2], concurrency: 2}
        body: {nodes: {
          one: {type: noop},
          held: {type: python, with: {function: test.hold, args: {name: "{{ string(item) }}"}}},
          after: {type: noop, needs: [held]}}}
      z: {type: noop, needs: [each]}
    """.replace("under_way", "under-way")
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        execution_id = await here.start(text)
        await here.until_node(execution_id, "each[1].held")
        await here.until_node(execution_id, "each[0].held")
        found = {node["path"]: node["status"] for node in await nodes(here, execution_id)}
        assert found == {
            "a": "COMPLETED", "each": "RUNNING",
            "each[0].one": "COMPLETED", "each[0].held": "RUNNING", "each[0].after": "PENDING",
            "each[1].one": "COMPLETED", "each[1].held": "RUNNING", "each[1].after": "PENDING",
            "z": "PENDING",
        }  # fmt: skip
        for limit in (1, 2, 4):
            assert [node["path"] for node in await nodes(here, execution_id, limit)] == list(found)
        stage.gate.set()
        await here.until(execution_id, "COMPLETED")


async def test_attempts_tell_when_each_was_and_when_the_next_comes(database_url):
    stage = Stage()
    stage.failing = {"a"}
    text = "name: r\nnodes: {a: {type: python, retry: {maxAttempts: 3, initialInterval: 1h, maxInterval: 1h}, with: {function: test.do, args: {name: a}}}}"
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "WAITING")
        (node,) = await nodes(here, execution_id)
        assert (node["status"], node["attempt"], node["error"]["type"]) == ("RETRYING", 1, "EXECUTION_ERROR")
        assert (node["finishedAt"], node["input"]["function"]) == (None, "test.do")
        (attempt,) = node["attempts"]
        assert (attempt["status"], attempt["error"]) == ("FAILED", node["error"])
        assert attempt["nextRetryAt"] > attempt["finishedAt"]
        await Steering(here).cancel(execution_id)
        (node,) = await nodes(here, execution_id)
        assert (node["status"], node["error"], node["attempts"][0]["status"]) == ("CANCELED", None, "FAILED")


async def test_large_outputs_are_shown_whole_and_make_pages_shorter(database_url):
    text = """
    name: large
    nodes:
      big:
        type: for_each
        with: {items: [1, 2, 3], concurrency: 1}
        body: {nodes: {x: {type: python, with: {function: test.large}}}}
    """

    @function(name="test.large")
    async def large() -> str:
        return "x" * (5 << 20)

    async with installation(database_url, functions=Functions(large)) as here, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "COMPLETED", "FAILED")
        found = await pages(here, execution_id)
        assert [[node["path"] for node in page] for page in found] == [
            ["big", "big[0].x"], ["big[1].x"], ["big[2].x"],
        ]  # fmt: skip
        assert len(found[1][0]["output"]) == 5 << 20


async def test_a_run_whose_version_is_gone_shows_what_came_to_something(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(RICH)
        await here.until(execution_id, "COMPLETED", "FAILED")
        whole = await nodes(here, execution_id)
        async with here.database.transaction() as connection:
            await connection.execute("DELETE FROM workflow_definition_versions")
        found = await nodes(here, execution_id, limit=4)
        assert [node["path"] for node in found] == [node["path"] for node in whole]
        assert {node["name"] for node in found} == {None}


async def test_changes_come_in_their_order_and_each_once(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(RICH)
        await here.until(execution_id, "COMPLETED", "FAILED")
        whole = {node["path"]: node for node in await nodes(here, execution_id)}
        documents = Documents()
        async with here.database.read() as connection:
            head = await find_execution(connection, execution_id)
            document = await documents.get(connection, head.version_id)
            seen, since = {}, 0
            while True:
                some = await changed_nodes(
                    connection, execution_id, head.status, document, since=since, limit=3
                )
                if not some:
                    break
                assert [each.revision for each in some] == sorted({each.revision for each in some})
                assert some[0].revision > since
                since = some[-1].revision
                seen |= {each.shown["path"]: each.shown for each in some}
            assert seen == whole
            assert head.revision > since


async def test_rows_of_later_owners_have_later_revisions(database_url):
    stage = Stage()
    text = "name: t\nnodes: {a: {type: noop}, b: {type: python, needs: [a], with: {function: test.hold, args: {name: b}}}}"
    async with installation(database_url, functions=stage.functions) as here:
        one = Worker(here)
        execution_id = await here.start(text)
        await here.until_node(execution_id, "b")
        before = max(row["revision"] for row in (await here.nodes(execution_id)).values())
        await one.freeze()
        async with here.database.transaction() as connection:
            await hand_back(connection, one.process.id)
        stage.gate.set()
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED")
        after = (await here.nodes(execution_id))["b", 1]["revision"]
        assert before < after < row["revision"]
