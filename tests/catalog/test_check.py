import asyncio
import time
from uuid import uuid4

import pytest
from tests.catalog.kit import noop, opened

from riven.catalog.check import DocumentChecker
from riven.db.engine import Database
from riven.db.errors import DatabaseUnavailableError
from riven.nodes.registry import Registry

CALLS_B = "name: a\nnodes:\n  x: {type: call, with: {workflow: b}}\n"


def codes(checked) -> list[str]:
    return [f"{problem.path} {problem.code} {problem.severity}" for problem in checked.problems]


@pytest.fixture
def checker():
    made = DocumentChecker(Database("postgresql://nobody@127.0.0.1:1/none"), Registry.discover())
    yield made
    made.close()


async def test_without_a_workspace_no_database_is_asked(checker) -> None:
    checked = await checker.check(CALLS_B, None)
    assert checked.valid
    assert checked.value["name"] == "a"


async def test_with_a_workspace_an_absent_database_is_told_as_such(checker) -> None:
    with pytest.raises(DatabaseUnavailableError):
        await checker.check(CALLS_B, uuid4())


async def test_functions_are_checked_when_they_are_known(database_url: str) -> None:
    text = "name: a\nnodes:\n  x: {type: python, with: {function: riven.ecko}}\n"
    async with opened(database_url) as shop:
        assert codes(await shop.checker.check(text, None)) == ["nodes.x.with.function unknown_function error"]
        unknowing = DocumentChecker(shop.database, shop.checker.registry)
        assert (await unknowing.check(text, None)).valid


async def test_it_is_kept_under_the_name_of_its_address(checker) -> None:
    checked = await checker.check(noop("a"), None, "b")
    assert codes(checked) == ["name other_name warning"]
    assert checked.document.name == "b"


async def test_a_text_that_cannot_be_read_has_no_value(checker) -> None:
    checked = await checker.check("{{", None)
    assert not checked.valid
    assert checked.value is None


async def test_called_workflows_are_the_published_ones_of_the_workspace(database_url: str) -> None:
    async with opened(database_url) as shop:
        other = await shop.workspace()
        await other.publish("b")
        assert codes(await shop.checker.check(CALLS_B, shop.workspace_id)) == [
            "nodes.x.with.workflow unknown_workflow error"
        ]
        await shop.save("b", noop("b"))
        assert not (await shop.checker.check(CALLS_B, shop.workspace_id)).valid  # a draft is not published
        await shop.publish("b")
        checked = await shop.checker.check(CALLS_B, shop.workspace_id)
        assert checked.problems == []
        assert checked.document.nodes["x"].config == {"workflow": "b", "version": 1}
        assert list(checked.document.calls) == ["b@1"]


async def test_a_version_that_is_named_is_the_one_that_is_called(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("b")
        await shop.publish("b", "name: b\nnodes:\n  other: {type: noop}\n")
        text = CALLS_B.replace("workflow: b", "workflow: b, version: {}")
        first = await shop.checker.check(text.replace("{}", "1"), shop.workspace_id)
        assert list(first.document.calls["b@1"].nodes) == ["a"]
        assert codes(await shop.checker.check(text.replace("{}", "3"), shop.workspace_id)) == [
            "nodes.x.with.workflow unknown_workflow error"
        ]


async def test_what_a_version_calls_stays_what_it_called_when_it_was_published(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("c")
        await shop.publish("b", "name: b\nnodes:\n  y: {type: call, with: {workflow: c}}\n")
        await shop.publish("c", "name: c\nnodes:\n  newer: {type: noop}\n")
        checked = await shop.checker.check(CALLS_B, shop.workspace_id)
        assert sorted(checked.document.calls) == ["b@1", "c@1"]
        assert list(checked.document.calls["c@1"].nodes) == ["a"]


async def test_calls_in_a_circle_are_refused(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("a")
        await shop.publish("b", "name: b\nnodes:\n  y: {type: call, with: {workflow: a}}\n")
        await shop.publish("c", "name: c\nnodes:\n  y: {type: call, with: {workflow: b}}\n")
        for direct in ("a", "b", "c"):
            text = f"name: a\nnodes:\n  x: {{type: call, with: {{workflow: {direct}}}}}\n"
            assert codes(await shop.checker.check(text, shop.workspace_id)) == [
                "nodes.x.with.workflow call_recursion error"
            ]


async def test_what_is_too_deep_only_together_with_what_it_calls_is_refused(database_url: str) -> None:
    async with opened(database_url) as shop:
        await shop.publish("w0")
        for level in range(1, 9):
            text = f"name: w{level}\nnodes:\n  x: {{type: call, with: {{workflow: w{level - 1}}}}}\n"
            assert (await shop.publish(f"w{level}", text)).version == 1
        checked = await shop.checker.check(
            "name: w9\nnodes:\n  x: {type: call, with: {workflow: w8}}\n", shop.workspace_id
        )
        assert not checked.valid
        assert {problem.code for problem in checked.problems} == {"too_many_levels"}


async def test_a_large_document_is_checked_beside_the_event_loop(checker) -> None:
    text = "name: a\nnodes:\n" + "".join(
        f"  n{i}: {{type: log, with: {{message: hello}}}}\n" for i in range(3_000)
    )
    longest, last = 0.0, time.perf_counter()
    task = asyncio.ensure_future(checker.check(text, None))
    while not task.done():
        await asyncio.sleep(0.001)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    assert (await task).valid
    assert longest < 0.5  # of seconds that the check takes, the loop waits for switches of threads alone


async def test_many_checks_at_once_end_like_one(checker) -> None:
    texts = [
        f"name: w{n}\nnodes:\n  x: {{type: set, with: {{value: '{{{{ input.n + {n} }}}}'}}}}\n"
        "# " + "x" * 4_000
        for n in range(20)
    ]
    checked = await asyncio.gather(*(checker.check(text, None) for text in texts))
    assert all(each.valid for each in checked)
    assert [each.document.name for each in checked] == [f"w{n}" for n in range(20)]
