import pytest
from tests.effects.kit import Echo, document

from riven.core.errors import InvalidDocumentError
from riven.effects.program import compile_program
from riven.nodes.registry import Registry

REGISTRY = Registry.discover().with_types(Echo)


def test_everything_that_cannot_be_compiled_is_listed_with_its_path():
    doc = document(
        {
            "a": {"type": "nothing_like_it"},
            "b": {"with": {"value": ["{{ 1 + }}"]}, "when": "input."},
            "c": {"type": "switch", "with": {"cases": [{"name": "x", "if": "((("}]}},
            "d": {
                "type": "for_each",
                "with": {"items": []},
                "body": {"nodes": {"e": {"with": {"value": "{{"}}}, "output": "{{ ) }}"},
            },
            "f": {"type": "call", "with": {"workflow": "gone"}},
        },
        output={"x": "{{ ? }}"},
    )
    with pytest.raises(InvalidDocumentError) as caught:
        compile_program(doc, REGISTRY)

    assert sorted(problem.path for problem in caught.value.problems) == [
        "nodes.a.type",
        "nodes.b.when",
        "nodes.b.with.value[0]",
        "nodes.c.with.cases[0].if",
        "nodes.d.body.nodes.e.with.value",
        "nodes.d.body.output",
        "nodes.f.with.workflow",
        "output.x",
    ]


def test_a_workflow_that_calls_itself_is_refused():
    loop = document({"again": {"type": "call", "with": {"workflow": "loop"}}}, name="loop")
    doc = document({"a": {"type": "call", "with": {"workflow": "loop"}}}, calls={"loop": loop})

    with pytest.raises(InvalidDocumentError, match="calls itself"):
        compile_program(doc, REGISTRY)


def test_a_workflow_that_is_called_twice_is_compiled_once():
    other = document({"x": {}}, name="other")
    doc = document(
        {key: {"type": "call", "with": {"workflow": "other"}} for key in "ab"}, calls={"other": other}
    )
    program = compile_program(doc, REGISTRY)

    assert program.root.nodes["a"].body is program.root.nodes["b"].body


def test_the_secrets_of_the_whole_document_are_known():
    other = document({"x": {"with": {"value": "{{ secrets.inner }}"}}}, name="other")
    doc = document(
        {
            "a": {"with": {"value": ["{{ secrets.one }}", "{{ secrets['two'] }}"]}},
            "b": {"type": "call", "with": {"workflow": "other"}},
        },
        calls={"other": other},
    )

    assert compile_program(doc, REGISTRY).secrets == {"one", "two", "inner"}


def test_a_step_is_looked_for_from_the_inside_outwards():
    body = {"nodes": {"a": {}, "x": {"with": {"value": "{{ [steps.a, steps.b] }}"}}}}
    doc = document({"a": {}, "b": {}, "each": {"type": "for_each", "with": {"items": []}, "body": body}})
    inner = compile_program(doc, REGISTRY).root.nodes["each"].body

    assert inner is not None
    assert dict(inner.nodes["x"].config.reads.steps) == {"a": 0, "b": 1}
