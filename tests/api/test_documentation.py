import re
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.api.harness import assert_problem, build_state, serving

from riven.api.app import create_app
from riven.api.documentation import describe_page, problem_page, problems_page
from riven.api.problem_kinds import PROBLEM_KINDS
from riven.db.engine import Database

VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """The ids and the links of a page, and whether its elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name != "style"
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def openapi() -> dict[str, Any]:
    return create_app(build_state(Database("postgresql://nobody@127.0.0.1:1/none"))).openapi()


def test_the_page_shows_every_operation_and_every_body(openapi: dict[str, Any]) -> None:
    text = describe_page(openapi)
    page = Page(text)
    for path, methods in openapi["paths"].items():
        assert f"<code>{path}</code>" in text
        for operation in methods.values():
            assert operation["operationId"] in page.ids
    for name in openapi["components"]["schemas"]:
        assert f"schema-{name}" in page.ids
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("executions_start_execution", "Needs the role <code>OPERATOR</code>."),
        ("workspaces_create", "Needs a platform key."),
        ("tiers_list_all", "Needs any credential."),
        ("operations_readyz", "Needs no credential."),
    ],
)
def test_an_operation_says_whose_request_it_has_to_be(
    openapi: dict[str, Any], operation: str, said: str
) -> None:
    article = describe_page(openapi).partition(f'<article id="{operation}">')[2].partition("</article>")[0]
    assert said in article


def test_links_within_the_page_lead_somewhere(openapi: dict[str, Any]) -> None:
    page = Page(describe_page(openapi))
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert inside
    assert set(inside) <= set(page.ids)


def test_pages_load_nothing_from_outside_and_run_nothing(openapi: dict[str, Any]) -> None:
    kinds = [problem_page(kind) for kind in PROBLEM_KINDS.values()]
    for text in (describe_page(openapi), problems_page(), *kinds):
        page = Page(text)
        assert not {"script", "iframe", "img", "object", "style"} & set(page.tags)
        assert re.findall(r'<link[^>]*href="([^"]*)"', text) == ["/docs/pages.css"]


def test_what_descriptions_say_is_no_markup() -> None:
    openapi = {
        "info": {
            "title": "<t>",
            "version": "1",
            "description": "a `<b>` [x](https://e.example) [y](javascript:z)",
        },
        "paths": {
            "/x": {
                "get": {
                    "operationId": "x",
                    "summary": "<i>",
                    "description": "<script>alert(1)</script>",
                    "responses": {"200": {"description": "<u>"}},
                }
            }
        },
        "components": {"schemas": {"S": {"type": "object", "examples": [{"a": "</pre><script>"}]}}},
    }
    text = describe_page(openapi)
    assert "<script>" not in text
    assert "<code>&lt;b&gt;</code>" in text
    assert '<a href="https://e.example">x</a>' in text
    assert "[y](javascript:z)" in text
    Page(text)


async def test_every_problem_has_the_page_that_its_type_names(database_url: str) -> None:
    async with serving(database_url) as api:
        index = await api.get("/problems", root=True, key=None)
        for kind in PROBLEM_KINDS.values():
            page = await api.get(f"/problems/{kind.code}", root=True, key=None)
            assert page.status_code == 200
            assert kind.title in page.text
            assert f'href="/problems/{kind.code}"' in index.text
        assert_problem(await api.get("/problems/none", root=True, key=None), 404, "not_found")


async def test_pages_are_html_and_their_style_is_css(database_url: str) -> None:
    async with serving(database_url) as api:
        docs = await api.get("/docs", root=True, key=None)
        style = await api.get("/docs/pages.css", root=True, key=None)
        assert docs.headers["content-type"] == "text/html; charset=utf-8"
        assert style.headers["content-type"] == "text/css; charset=utf-8"
        assert "url(" not in style.text
        assert "@import" not in style.text
