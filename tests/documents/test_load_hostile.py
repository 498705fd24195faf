"""Whatever a document holds: a list of problems, in bounded time, and never anything else."""

import copy
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.documents.loading import REGISTRY, load, nodes, shown
from tests.documents.test_load import REFUND
from tests.documents.test_normalise import EVERYTHING

from riven.core.errors import Severity
from riven.core.validation import validate
from riven.documents.input import check_input
from riven.documents.load import LoadedDocument
from riven.documents.normalise import build_graph
from riven.documents.parse import parse
from riven.wire.document import Json, from_json, to_json

TEXTS = [
    REFUND,
    EVERYTHING,
    *(path.read_text(encoding="utf-8") for path in sorted(Path("examples").rglob("*.yaml"))),
]
VALUES = [tree.value for text in TEXTS if (tree := parse(text).tree) is not None]

ODD = [
    None, True, False, 0, -1, 1.5, 2**63 - 1, 2**64, -(2**70), 1e308, "", " ", "0", "true", "null", "{{", "}}", "{{ }}",
    "{{ 1 + }}", "{{ steps }}", "{{ steps.a.output }}", "{{ steps[input.x].output }}", "{{ '}}' }}", "{{ {'a': {}} }}",
    "{{ secrets.x }}", "{{ item }}", "{{ vars }}", "[1].map(x, [1].map(y, x))", "x" * 5_000, "{{" * 3_000, "\u202eevil",
    "\x1b[2J", "a\x00b", "\ud800", "\U0001f600", "\ufeff", "a.b[0]", "../../etc/passwd", "__class__", "steps", "in",
    [], {}, [[]], [None], {"": None}, {"a": {"b": [1, {}]}}, ["a", 1, {}], {"{{ x }}": 1}, {"$ref": "#"}, {"a" * 300: 1},
]  # fmt: skip


def places(value: Json) -> Iterator[tuple[Json, Json]]:
    """Every container, with each of its keys."""
    todo = [value]
    while todo:
        each = todo.pop()
        keys = (
            list(each) if isinstance(each, dict) else list(range(len(each))) if isinstance(each, list) else []
        )
        for key in keys:
            yield each, key
            todo.append(each[key])


@st.composite
def mutated(draw: st.DrawFn) -> Json:
    value = copy.deepcopy(draw(st.sampled_from(VALUES)))
    for _ in range(draw(st.integers(1, 4))):
        container, key = draw(st.sampled_from(list(places(value)) or [(value, "name")]))
        match draw(st.sampled_from(["replace", "replace", "delete", "rename", "double", "copy"])):
            case "replace":
                container[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
            case "delete":
                del container[key]
            case "rename" if isinstance(container, dict):
                name = draw(
                    st.sampled_from([odd for odd in ODD if isinstance(odd, str)]) | st.text(max_size=5)
                )
                container[name] = container.pop(key)
            case "double" if isinstance(container, list):
                container.append(container[key])
            case _:
                other, there = draw(st.sampled_from(list(places(value))))
                container[key] = copy.deepcopy(other[there])
    return value


def check(loaded: LoadedDocument) -> None:
    for problem in loaded.problems:
        assert problem.line is not None
        assert problem.line >= 1
        assert problem.column is not None
        assert problem.column >= 1
        assert problem.code.isidentifier()
        assert 0 < len(problem.message) < 1_500
        assert len(problem.path) < 2_000
        assert problem.path.isprintable()
        assert problem.message.replace("\n", " ").isprintable(), problem
    assert loaded.valid == (loaded.graph is not None) == (loaded.document is not None)
    if loaded.document is None:
        assert loaded.problems
        return
    stored = json.loads(json.dumps(to_json(loaded.document)))
    graph = build_graph(from_json(stored), REGISTRY)
    assert graph == loaded.graph
    assert not [problem for problem in validate(graph) if problem.severity is Severity.ERROR]
    check_input(loaded.document, {})


@given(mutated())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_valid_document_with_anything_changed_is_valid_or_told_why_not(value: Json) -> None:
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):
        return  # a value that was made to hold itself
    check(load(text, functions=["charge"], calls={}))


@given(mutated())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_yaml_and_json_of_one_value_have_the_same_problems(value: Json) -> None:
    text = json.dumps(value)
    if "\\ud" in text or re.search(r'"[^"]{1000,}": ', text):
        return  # to YAML a pair of surrogates is no character, and a key has at most 1,024
    as_json, as_yaml = load(text, calls={}), load(f"# YAML\n{text}", calls={})
    check(as_json)
    check(as_yaml)
    assert [(p.path, p.code, p.column) for p in as_json.problems] == [
        (p.path, p.code, p.column) for p in as_yaml.problems
    ]


@given(st.sampled_from(TEXTS), st.data())
@settings(max_examples=400, deadline=None)
def test_a_valid_text_with_anything_changed_is_valid_or_told_why_not(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 20)))
        new = data.draw(
            st.text(max_size=3)
            | st.sampled_from(["\n", "  ", "- ", ": ", "{", "}", "[", "&a ", "*a", '"', "'"])
        )
        text = text[:start] + new + text[end:]
    check(load(text, calls={}))


FIELDS = [
    "name: {0}",
    "name: x\ndescription: {0}",
    "name: x\ninput: {0}",
    "name: x\ninput: {{properties: {{a: {{pattern: {0}, format: {0}, default: {0}, $ref: {0}}}}}}}",
    "name: x\nvars: {{a: {0}}}",
    "name: x\ntimeout: {0}",
    "name: x\nonFailure: {0}",
    "name: x\noutput: {0}",
    "name: x\nnodes: {{{0}: {{type: noop}}}}",
    nodes("  a: {0}"),
    nodes("  a: {{type: {0}}}"),
    nodes("  a: {{type: noop, name: {0}, when: {0}, join: {0}, position: {0}}}"),
    nodes("  a: {{type: noop, needs: [{0}, {{node: {0}, outcome: {0}}}]}}"),
    nodes("  a: {{type: noop}}\nedges: [{{from: {0}, to: {0}, outcome: {0}}}, {{from: a, to: a, {0}: 1}}]"),
    nodes("  a: {{type: noop, timeout: {0}, retry: {{initialInterval: {0}, maxAttempts: {0}}}}}"),
    nodes("  a: {{type: http_request, with: {{url: {0}, method: {0}, headers: {{{0}: {0}}}, okStatus: {0}, auth: {{bearer: {0}}}}}}}"),
    nodes("  a: {{type: python, with: {{function: {0}, args: {{{0}: {0}}}}}}}"),
    nodes("  a: {{type: log, with: {{message: {0}, level: {0}, data: {0}}}}}"),
    nodes("  a: {{type: fail, with: {{message: {0}, type: {0}}}}}"),
    nodes("  a: {{type: condition, with: {{if: {0}}}}}"),
    nodes("  a: {{type: switch, with: {{cases: [{{name: {0}, if: {0}}}, {{name: {0}, if: {0}}}]}}}}"),
    nodes("  a: {{type: for_each, with: {{items: {0}, concurrency: {0}, onItemFailure: {0}}}, body: {{nodes: {{b: {{type: noop}}}}, output: {0}}}}}"),
    nodes("  a: {{type: repeat, with: {{while: {0}, delay: {0}, maxIterations: {0}}}, body: {0}}}"),
    nodes("  a: {{type: call, with: {{workflow: {0}, version: {0}, input: {{a: {0}}}}}}}"),
    nodes("  a: {{type: wait, with: {{for: {0}, until: {0}}}}}"),
    nodes("  a: {{type: signal, with: {{name: {0}, timeout: {0}}}}}"),
    nodes("  a: {{type: approval, with: {{title: {0}, description: {0}, form: {0}, timeout: {0}}}}}"),
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_bears_every_odd_value(field: str) -> None:
    for odd in ODD:
        written = json.dumps(odd, ensure_ascii=True) if not isinstance(odd, str) else _quoted(odd)
        check(load(field.format(written), functions=["f"], calls={}))


def _quoted(text: str) -> str:
    """In double quotes, everything unusual escaped as YAML does."""
    return (
        '"'
        + "".join(
            char if " " <= char <= "~" and char not in '"\\' else f"\\U{ord(char):08x}" for char in text
        )
        + '"'
    )


def test_deep_values_are_told_wherever_they_stand() -> None:
    for levels in (50, 99, 1_000, 10_000):
        deep = "[" * levels + "]" * levels
        for field in FIELDS[2:10]:
            check(load(field.format(deep)))
        check(load(nodes(f"  a: {{type: set, with: {{value: {deep}}}}}")))
        check(load('{"name": "x", "nodes": {"a": {"type": "set", "with": {"value": ' + deep + "}}}}"))
    assert shown(load(nodes(f"  a: {{type: set, with: {{value: {'[' * 90 + ']' * 90}}}}}"))) == []


def test_expressions_that_would_run_for_ever_are_told_or_bounded() -> None:
    nested = "[1, 2, 3, 4, 5, 6, 7, 8, 9]"
    for name in "abcdefgh":
        nested = f"[1, 2, 3, 4, 5, 6, 7, 8, 9].map({name}, {nested})"
    for source in (
        nested,
        "(" * 2_000 + "1" + ")" * 2_000,
        "-" * 4_000 + "1",
        "1" + " + 1" * 1_000,
        "a" + ".a" * 2_000,
    ):
        begun = time.process_time()
        check(load(nodes(f'  a: {{type: set, with: {{value: "{{{{ {source} }}}}"}}}}')))
        check(load(nodes(f'  a: {{type: condition, with: {{if: "{source}"}}}}')))
        assert time.process_time() - begun < 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "name: x\nedges: [" + "1, " * 400_000 + "1]",
        "name: x\nedges: [" + "{from: a, to: b}, " * 100_000 + "]",
        nodes("  a: {type: noop, needs: [" + "b, " * 300_000 + "b]}"),
        nodes("  a: {type: noop, " + ", ".join(f"f{number}: 1" for number in range(100_000)) + "}"),
        nodes("  a: {type: set, with: {value: [" + "'{{ steps.b.output }}', " * 50_000 + "]}}"),
        nodes('  a: {type: set, with: {value: "' + "{{ x }}" * 100_000 + '"}}'),
        nodes("  a: {type: switch, with: {cases: [" + "{name: a, if: 'true'}, " * 50_000 + "]}}"),
        "name: x\nvars: {" + ", ".join(f"v{number}: '{{{{ x }}}}'" for number in range(50_000)) + "}",
        "name: x\ninput: {properties: {" + ", ".join(f"p{number}: {{type: strin}}" for number in range(50_000)) + "}}",
        nodes("".join(f"  n{number}: {{type: noop, needs: [m{number}]}}\n" for number in range(10_000))),
        nodes("".join(f"  n{number}: {{type: set, with: {{value: '{{{{ steps.m{number}.output }}}}'}}}}\n" for number in range(10_000))),
        nodes("".join(f"  n{number}: {{type: noop, needs: [n{(number + 1) % 10_000}]}}\n" for number in range(10_000))),
        nodes("".join(f"  n{number}: {{type: log, with: {{message: '{{{{ steps.n{number // 2}.output }}}}'}}, needs: [n{number - 1}]}}\n" for number in range(1, 10_000))),
    ],
    ids=lambda text: text[:40] + text[-20:],
)  # fmt: skip
def test_four_mebibytes_of_mistakes_end_in_seconds(text: str) -> None:
    begun = time.process_time()
    check(load(text))
    assert time.process_time() - begun < 20
