from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from tests.api.harness import build_state, serving

from riven.api.app import create_app
from riven.api.binding import Operation
from riven.db.engine import Database

METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return create_app(build_state(Database("postgresql://nobody@127.0.0.1:1/none"))).openapi()


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method in METHODS:
            if method in methods:
                yield method, path, methods[method]


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_it_is_openapi_3_1_and_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    assert described["openapi"] == "3.1.0"
    schemas = described["components"]["schemas"]
    found = set(references(described))
    assert found
    assert {each.removeprefix("#/components/schemas/") for each in found} <= set(schemas)
    for schema in schemas.values():
        Draft202012Validator({**schema, "components": {"schemas": schemas}})


def test_operations_have_names_of_their_own(described: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(described)]
    assert len(names) == len(set(names))
    assert all(operation["summary"] for _, _, operation in operations(described))


def test_every_operation_of_the_api_is_described(described: dict[str, Any]) -> None:
    app = create_app(build_state(Database("postgresql://nobody@127.0.0.1:1/none")))
    served = {
        (method.lower(), route.path_format)
        for route in app.routes
        if isinstance(route, Operation) and route.path.startswith("/api/")
        for method in route.methods or ()
    }
    assert served == {(m, path) for m, path, _ in operations(described) if path.startswith("/api/")}


def test_every_parameter_of_an_address_is_described(described: dict[str, Any]) -> None:
    for _, path, operation in operations(described):
        named = {part[1:-1].partition(":")[0] for part in path.split("/") if part.startswith("{")}
        told = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        assert named == told, path


def test_what_needs_a_key_says_so_and_how_it_refuses(described: dict[str, Any]) -> None:
    for _, path, operation in operations(described):
        answers = set(operation["responses"])
        if path.startswith("/api/"):
            assert operation["security"] == [{"key": []}], path
            assert {"401", "403", "422", "429", "500", "503"} <= answers
        else:
            assert "security" not in operation, path
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= answers
        if "{" in path:
            assert "404" in answers
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert set(answer["content"]) == {"application/problem+json"}
            if status in ("429", "503"):
                assert "Retry-After" in answer["headers"]


def test_links_lead_to_operations_and_name_what_is_there(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    found = {operation["operationId"]: operation for _, _, operation in operations(described)}
    count = 0
    for operation in found.values():
        own = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        for answer in operation["responses"].values():
            for link in answer.get("links", {}).values():
                count += 1
                target = found[link["operationId"]]
                known = {each["name"]: each for each in target.get("parameters", ())}
                required = {name for name, each in known.items() if each.get("required")}
                assert required <= set(link.get("parameters", {})) <= set(known)
                shown = schemas[answer["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]]
                for value in (*link.get("parameters", {}).values(), *link.get("requestBody", {}).values()):
                    place, _, name = value.replace("body#/", "body.").rpartition(".")
                    if place == "$response.body":
                        assert name in shown["required"]
                    else:
                        assert (place, name in own) == ("$request.path", True)
    assert count > 20


def test_names_of_labels_are_bounded_as_they_are_taken(described: dict[str, Any]) -> None:
    labels = described["components"]["schemas"]["StartRequest"]["properties"]["labels"]
    check = Draft202012Validator(labels)
    assert check.is_valid({"customer": "acme"})
    for wrong in ({"a\0": "b"}, {"": "b"}, {"a" * 257: "b"}, {"a": "\0"}, {"a": 1}):
        assert not check.is_valid(wrong)


def test_examples_are_what_their_schemas_say(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    count = 0
    for name, schema in schemas.items():
        check = Draft202012Validator({**schema, "components": {"schemas": schemas}}, validate_formats=True)
        for example in schema.get("examples", ()):
            assert not [str(error) for error in check.iter_errors(example)], name
            count += 1
    assert count > 10


def test_every_body_of_the_api_has_an_example(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    for method, path, operation in operations(described):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            reference = content.get("schema", {}).get("$ref")
            if reference is not None:
                shown = schemas[reference.rsplit("/", 1)[-1]].get("examples") or content.get("examples")
                assert shown, f"{method} {path}"


def test_metrics_are_text(described: dict[str, Any]) -> None:
    assert set(described["paths"]["/metrics"]["get"]["responses"]["200"]["content"]) == {"text/plain"}


def test_bounds_have_the_names_that_json_schema_gives_them(described: dict[str, Any]) -> None:
    running = described["components"]["schemas"]["TierLimits"]["properties"]["running"]
    assert (running["minimum"], running["maximum"]) == (0, 1_000_000)
    assert not {"ge", "le", "gt", "lt"} & set(running)


async def test_it_is_served_without_a_key(database_url: str) -> None:
    async with serving(database_url) as api:
        answer = await api.get("/openapi.json", root=True, key=None)
        assert answer.status_code == 200
        assert answer.json() == api.app.openapi()


async def test_it_lists_the_tiers_that_the_installation_has(database_url: str) -> None:
    async with serving(database_url) as api:
        await api.put("/workspace-tiers/TEAM", {"running": 3})
        for name in ("NewWorkspaceRequest", "WorkspacePatch"):
            found = (await api.get("/openapi.json", root=True)).json()["components"]["schemas"][name]
            assert found["properties"]["tier"]["enum"] == ["FREE", "TEAM", "PRO", "ENTERPRISE"]
        await api.database.close()
        api.database._options["dsn"] = "postgresql://nobody@127.0.0.1:1/none"
        away = (await api.get("/openapi.json", root=True)).json()["components"]["schemas"]
        assert away["NewWorkspaceRequest"]["properties"]["tier"]["enum"] == ["FREE", "PRO", "ENTERPRISE"]
