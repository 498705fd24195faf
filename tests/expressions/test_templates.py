"""Templates keep types, write text, and report everything that is wrong."""

import time
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.expressions.oracle import VALUES, same

from riven.expressions.errors import ExpressionError
from riven.expressions.templates import TemplateErrors, compile_template, has_placeholder

ROOTS = {
    "input": {
        "name": "Ada",
        "n": 3,
        "d": 1.0,
        "none": None,
        "list": [1, None],
        "object": {"b": 1, "a": "é"},
        "yes": True,
    },
    "steps": {"skipped": {"status": "SKIPPED"}},
}


def render(value: object) -> object:
    return compile_template(value).render(ROOTS)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{{ input.n }}", 3),
        ("{{input.n}}", 3),
        ("{{ input.d }}", 1.0),
        ("{{ input.none }}", None),
        ("{{ input.object }}", {"b": 1, "a": "é"}),
        ("{{\n  input.n\n  + 1\n}}", 4),
        (" {{ input.n }}", " 3"),
        ("{{ input.n }} ", "3 "),
        ("{{ input.n }}{{ input.n }}", "33"),
        ("Hello {{ input.name }}!", "Hello Ada!"),
        ("{{ input.d }} {{ input.yes }}", "1.0 true"),
        ("{{ input.list }}:{{ input.object }}", '[1,null]:{"b":1,"a":"é"}'),
        ("{{ '{{' }} and {{ '}}' }}", "{{ and }}"),
        ("{{ '{{' }}", "{{"),
        ("}} alone", "}} alone"),
        ("{ {input.n} }", "{ {input.n} }"),
        ("{{ input.n }}}}", "3}}"),
        ("{{ {'a': {'b': input.n}} }}", {"a": {"b": 3}}),
        ("{{{'a': {'b': input.n}}}}", {"a": {"b": 3}}),
        ("{{ {'a': '}}'} }}", {"a": "}}"}),
        ("{{ '}}' + \"}}\" + '''}}''' + r'}}' }}", "}}" * 4),
        ("{{ input.n // don't }}", 3),
        ("{{ input.n // it's {{ }} text", "3 text"),
        ("{{ [1, 2].map(x, {'x': x}) }}", [{"x": 1}, {"x": 2}]),
        ("", ""),
        (7, 7),
        (None, None),
        ({"a": ["{{ input.n }}", {"b": "x{{ input.n }}"}], "c": True}, {"a": [3, {"b": "x3"}], "c": True}),
        ({"{{ input.n }}": 1}, {"{{ input.n }}": 1}),
        ({"{{ input.n }}": "{{ input.n }}"}, {"{{ input.n }}": 3}),
        ([["{{ input.n }}"], []], [[3], []]),
    ],
)  # fmt: skip
def test_rendering(value: object, expected: object) -> None:
    assert same(render(value), expected)


@settings(deadline=None)
@given(VALUES)
def test_a_whole_placeholder_keeps_value_and_type(value: object) -> None:
    for text in ("{{ input.v }}", "{{ [input.v][0] }}", "{{ input.?v.orValue(1) }}"):
        assert same(compile_template(text).render({"input": {"v": value}}), value)


@settings(deadline=None)
@given(st.text().filter(lambda text: "{{" not in text))
@example("}}{ {\0\ud800")
def test_text_without_placeholders_stays_as_it_is(text: str) -> None:
    template = compile_template({"a": [text, 1]})
    assert template.constant
    assert template.render({}) == {"a": [text, 1]}
    assert compile_template(text + " {{ 1 }}").render({}) == text + " 1"
    assert not has_placeholder(text)


@settings(deadline=None, max_examples=400)
@given(
    st.lists(
        st.sampled_from(
            [
                "{{",
                "}}",
                "{",
                "}",
                "'",
                '"',
                "a",
                " ",
                "input.n",
                "//",
                "\n",
                "r'",
                "\\",
                "[",
                "]",
                "1",
                "'''",
                "\ud800",
                "\0",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_junk_raises_nothing_else(text: str) -> None:
    assert has_placeholder(text) == ("{{" in text)
    try:
        template = compile_template({"k": text})
    except TemplateErrors as errors:
        assert errors.errors  # noqa: PT017
        for path, error in errors.errors:
            assert path == error.field == "k"
            assert error.message.isprintable()
        return
    try:
        template.render(ROOTS)
    except ExpressionError as error:
        assert error.field == "k"  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("{{ input.n", "placeholder_unclosed", "}} is missing after {{ input.n"),
        ("{{ input.n }} and {{ input.n", "placeholder_unclosed", "missing"),
        ("{{", "placeholder_unclosed", "missing"),
        ("a {{ input.n } b", "expression_syntax", "a single }"),
        ("{{ {'a': 1 }}", "expression_syntax", "lacks its {"),
        ("{{ 'open }}", "expression_syntax", "not closed"),
        ("{{ }}", "expression_empty", "missing"),
        ("{{}} {{ input.n }}", "expression_empty", "missing"),
        ("{{ input.n + }}", "expression_syntax", "too early"),
        ("{{ {{ input.n }} }}", "placeholder_in_expression", "leave out"),
        ("{{ input. }}", "expression_syntax", "name of a field"),
        ("{{ nothing }} {{ input.n }}", "unknown_name", "unknown"),
        ("{{ " + "1" * 5_000 + " }}", "expression_too_long", "4096"),
        ("{{ '" + "x" * 20_000 + "' }}", "expression_syntax", "not closed"),
        ("{{ " + " " * 20_000 + "1 }}", "expression_too_long", "4096"),
    ],
)
def test_a_malformed_placeholder_is_an_error_also_beside_a_good_one(text: str, code: str, hint: str) -> None:
    with pytest.raises(TemplateErrors) as caught:
        compile_template(text)
    [(path, error)] = caught.value.errors
    assert (path, error.code) == ("", code)
    assert hint in error.message
    assert len(error.message) < 600


def test_all_errors_of_a_value_are_told_with_their_places() -> None:
    value = {
        "url": "{{ vars.shop }}/{{ nothing }}/{{ }}",
        "json": {"items": [{"id": "{{ steps[0] }}"}, {"id": "fine"}, {"id": "{{ 1 +"}]},
        "headers": {"x-id": "{{ foo() }}"},
    }
    with pytest.raises(TemplateErrors) as caught:
        compile_template(value)
    assert [(path, error.code) for path, error in caught.value.errors] == [
        ("url", "unknown_name"),
        ("url", "expression_empty"),
        ("json.items[0].id", "dynamic_reference"),
        ("json.items[2].id", "placeholder_unclosed"),
        ("headers.x-id", "unknown_function"),
    ]
    assert caught.value.errors[2][1].location == ("json", "items", 0, "id")
    assert "json.items[0].id: " in str(caught.value)


@pytest.mark.parametrize(
    ("value", "field", "code", "hint"),
    [
        ("n: {{ input.none }}", "", "null_in_text", "`input.none == null ? '' : input.none`"),
        ({"a": ["{{ input.n }}", "n: {{ input.none }}"]}, "a[1]", "null_in_text", "null"),
        ({"a": "{{ input.nothing }}"}, "a", "missing_path", "`list`"),
        (
            "{{ steps.?skipped.?output.orValue(null) }}!",
            "",
            "null_in_text",
            "steps.?skipped.?output.orValue('')",
        ),
        ({"b": [[{"c": "{{ 1 / 0 }}"}]]}, "b[0][0].c", "division_by_zero", "zero"),
        ({"b": "x{{ input.n * 1.5 }}"}, "b", "type_mismatch", "double(input.n)"),
    ],
)
def test_an_error_while_rendering_names_its_field(value: object, field: str, code: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        render(value)
    assert (caught.value.field, caught.value.code) == (field, code)
    assert hint in caught.value.message


def test_references_of_all_placeholders_are_joined() -> None:
    template = compile_template(
        {
            "a": "{{ steps.x.output }} {{ steps.?y.output.orValue(1) }}",
            "b": ["{{ secrets.k }}", "{{ input.z }}"],
        }
    )
    assert [(step.key, step.maybe) for step in template.references.steps] == [("x", False), ("y", True)]
    assert template.references.secrets == {"k"}
    assert template.references.roots == {"steps", "secrets", "input"}
    assert not template.constant


@pytest.mark.parametrize("value", [None, 1, "text", {"a": [1, "b", None]}, [], {}, {"{{ key }}": 1}])
def test_a_value_without_placeholders_is_itself(value: object) -> None:
    template = compile_template(value)
    assert template.constant
    assert template.render({}) is value


def test_constant_parts_beside_templates_are_kept() -> None:
    large = list(range(1_000))
    value = {"large": large, "n": "{{ input.n }}"}
    rendered = render(value)
    assert isinstance(rendered, dict)
    assert rendered["large"] is large
    assert value == {"large": large, "n": "{{ input.n }}"}


def test_depth_is_bounded() -> None:
    value: object = "{{ input.n }}"
    for _ in range(90):
        value = [value]
    assert render(value) != value
    for _ in range(10_000):
        value = {"a": value}
    with pytest.raises(TemplateErrors) as caught:
        compile_template(value)
    assert [error.code for _, error in caught.value.errors] == ["value_too_deep"]


def test_text_is_bounded() -> None:
    roots = {"input": {"text": "x" * 1_000_000}}
    assert len(compile_template("{{ input.text }}" * 10).render(roots)) == 10_000_000
    for value in ("{{ input.text }}" * 17, ["{{ input.text }} " * 5] * 4):
        with pytest.raises(ExpressionError, match="16 MiB") as caught:
            compile_template(value).render(roots)
        assert caught.value.code == "text_too_large"


@pytest.mark.parametrize(
    "text",
    ["{{" * 100_000, "{{ 1 }}" * 20_000, "{{ '" * 50_000, "{" * 1_000_000, "{{ {" * 50_000, "//{{" * 50_000],
)
def test_long_texts_are_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    with suppress(TemplateErrors):
        compile_template(text)
    assert time.process_time() - began < 2


def test_odd_text_passes_where_it_is_not_computed_with() -> None:
    roots = {"input": {"odd": "a\0\ud800b", "list": ["\0"]}}
    assert compile_template("<{{ input.odd }}>").render(roots) == "<a\0\ud800b>"
    assert compile_template("{{ input.odd }}").render(roots) == "a\0\ud800b"
    assert compile_template("{{ input.list }}!").render(roots) == '["\\u0000"]!'
    with pytest.raises(ExpressionError) as caught:
        compile_template("{{ input.odd + 'x' }}").render(roots)
    assert caught.value.code == "unsupported_text"
