"""What templates see, scope by scope."""

from tests.effects.kit import attempt, begin, complete, document, keep, step

from riven.core.ids import NodePath
from riven.core.messages import Step
from riven.wire.document import Json


def show(expression: str) -> dict[str, Json]:
    return {"with": {"value": "{{ " + expression + " }}"}}


async def test_the_roots_of_a_run():
    doc = document(
        {"a": show("[input.n, vars.shop, execution.id, execution.workflow, workspace.name, trigger.type]")},
        vars={"shop": "s"},
    )
    run = begin(doc, input={"n": 1})

    assert (await attempt(run, "a")).output == [1, "s", "e-1", "test", "local", "manual"]


async def test_a_completed_step_shows_output_status_outcome_error_and_attempts():
    run = begin({"a": {"with": {"value": [1], "outcome": "other"}}, "b": show("steps.a")})
    await complete(run, "a")

    assert (await attempt(run, "b")).output == {
        "output": [1],
        "status": "COMPLETED",
        "outcome": "other",
        "error": None,
        "attempts": 1,
    }


async def test_a_step_that_did_not_complete_has_no_output():
    run = begin({"a": {}, "b": show("[steps.?a.?output.hasValue(), steps.a.status, steps.a.error]")})

    assert (await attempt(run, "b")).output == [False, "PENDING", None]


async def test_null_is_an_output():
    run = begin({"a": {"type": "noop"}, "b": show("[steps.?a.?output.hasValue(), steps.a.output]")})
    await complete(run, "a")

    assert (await attempt(run, "b")).output == [True, None]


async def test_a_body_sees_its_item_its_steps_and_the_steps_around_it():
    body = {
        "nodes": {
            "one": show("item"),
            "two": show("[item, index, steps.one.output, steps.top.output, input.n]"),
        }
    }
    run = begin(
        {
            "top": {"with": {"value": "t"}},
            "each": {"type": "for_each", "with": {"items": "{{ input.list }}"}, "body": body},
        },
        input={"list": ["x", "y"], "n": 7},
    )
    await complete(run, "top")
    keep(run, step(run, "each", Step.EXPAND))
    for index in range(2):
        await complete(run, f"each[{index}].one")

    assert (await attempt(run, "each[0].two")).output == ["x", 0, "x", "t", 7]
    assert (await attempt(run, "each[1].two")).output == ["y", 1, "y", "t", 7]


async def test_the_innermost_item_and_step_of_a_name_is_meant():
    inner = {
        "type": "for_each",
        "with": {"items": "{{ item }}"},
        "body": {"nodes": {"a": show("item"), "b": show("[item, index, steps.a.output]")}},
    }
    run = begin(
        {
            "a": {"with": {"value": "outermost"}},
            "each": {
                "type": "for_each",
                "with": {"items": [[10, 20]]},
                "body": {"nodes": {"inner": inner, "c": show("[item, steps.a.output]")}},
            },
        }
    )
    await complete(run, "a")
    keep(run, step(run, "each", Step.EXPAND))
    keep(run, step(run, "each[0].inner", Step.EXPAND))
    await complete(run, "each[0].inner[1].a")

    assert (await attempt(run, "each[0].inner[1].b")).output == [20, 1, 20]
    assert (await attempt(run, "each[0].c")).output == [[10, 20], "outermost"]


async def test_a_loop_inside_a_loop_sees_both():
    inner = {
        "type": "repeat",
        "with": {"until": "true"},
        "body": {"nodes": {"a": show("[item, index, iteration.index]")}},
    }
    run = begin({"each": {"type": "for_each", "with": {"items": ["x"]}, "body": {"nodes": {"poll": inner}}}})
    keep(run, step(run, "each", Step.EXPAND))
    keep(run, step(run, "each[0].poll", Step.EXPAND))

    assert (await attempt(run, "each[0].poll[4].a")).output == ["x", 0, 4]


async def test_a_called_workflow_sees_its_own_input_vars_and_steps_alone():
    called = document(
        {"a": show("[input, vars, execution.id]"), "b": show("steps.top")}, name="other", vars={"v": 2}
    )
    doc = document(
        {
            "top": {"with": {"value": "t"}},
            "each": {
                "type": "for_each",
                "with": {"items": [5]},
                "body": {
                    "nodes": {
                        "sub": {"type": "call", "with": {"workflow": "other", "input": {"n": "{{ item }}"}}}
                    }
                },
            },
        },
        vars={"v": 1},
        calls={"other": called},
    )
    run = begin(doc, input={"m": 1})
    await complete(run, "top")
    keep(run, step(run, "each", Step.EXPAND))
    keep(run, step(run, "each[0].sub", Step.EXPAND))

    assert (await attempt(run, "each[0].sub.a")).output == [{"n": 5}, {"v": 2}, "e-1"]
    assert (await attempt(run, "each[0].sub.b")).error is not None


async def test_the_values_of_a_scope_are_forgotten_when_it_has_ended():
    body = {"nodes": {"one": show("item")}}
    run = begin({"each": {"type": "for_each", "with": {"items": [1]}, "body": body}})
    keep(run, step(run, "each", Step.EXPAND))
    await complete(run, "each[0].one")
    run.close(NodePath("each[0]"))

    assert NodePath("each[0].one") not in run.values.steps
    assert (await attempt(run, "each[0].one")).output == 1, "and found anew if asked for again"
