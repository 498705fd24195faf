import jsonschema_rs
import pytest
import yaml
from tests.api.harness import assert_problem, serving

from riven.db.identity import new_id

DOCUMENT = "name: refund\nnodes:\n  tell: {type: log, with: {message: hello}}\n"
CALL = "name: refund\nnodes:\n  x: {type: call, with: {workflow: other}}\n"


async def test_a_document_is_validated_without_being_kept(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        for content in (DOCUMENT, '{"name": "refund", "nodes": {}}'):
            answer = await api.request("POST", "/workflow/validate", key=tenant.viewer, content=content)
            assert answer.status_code == 200
            assert answer.json() == {"valid": True, "problems": []}
        answer = await api.request(
            "POST", "/workflow/validate", key=tenant.viewer, content="nodes: {a: {type: lag}}"
        )
        assert answer.json()["valid"] is False
        assert [each["path"] for each in answer.json()["problems"]] == ["name", "nodes.a.type"]
        listed = await api.get(f"/workspaces/{tenant.id}/workflows", key=tenant.viewer)
        assert listed.json()["items"] == []


async def test_warnings_leave_a_document_valid(database_url: str) -> None:
    async with serving(database_url) as api:
        text = "name: refund\nnodes:\n  a: {type: condition, with: {if: 'true'}}\n"
        answer = (await api.request("POST", "/workflow/validate", content=text)).json()
        assert answer["valid"] is True
        assert [each["severity"] for each in answer["problems"]] == ["warning"]


async def test_called_workflows_are_looked_for_where_the_caller_is(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, stranger = await api.workspace(), await api.workspace("stranger")
        path = "/workflow/validate"
        asked = {"workspaceId": str(tenant.id)}
        assert (await api.request("POST", path, content=CALL)).json()["valid"] is True
        for answer in (
            await api.request("POST", path, content=CALL, key=tenant.viewer),
            await api.request("POST", path, content=CALL, params=asked),
        ):
            assert [each["code"] for each in answer.json()["problems"]] == ["unknown_workflow"]
        other = f"/workspaces/{tenant.id}/workflows/other"
        await api.put(other, key=tenant.editor, content=DOCUMENT.replace("refund", "other"))
        await api.post(f"{other}/publish", key=tenant.editor)
        assert (await api.request("POST", path, content=CALL, key=tenant.viewer)).json()["valid"] is True
        answer = await api.request("POST", path, content=CALL, key=stranger.admin, params=asked)
        assert_problem(answer, 403, "foreign_workspace")
        answer = await api.request("POST", path, content=CALL, params={"workspaceId": str(new_id())})
        assert_problem(answer, 404, "workspace_not_found")


async def test_a_document_may_have_four_mebibytes(database_url: str) -> None:
    async with serving(database_url) as api:
        large = DOCUMENT + "#" * ((4 << 20) - len(DOCUMENT))
        assert (await api.request("POST", "/workflow/validate", content=large)).json()["valid"] is True
        assert_problem(await api.request("POST", "/workflow/validate", content=large + "#"), 413, "too_large")


async def test_the_schema_fits_documents(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        schema = (await api.get("/workflow/schema", key=tenant.viewer)).json()
        validator = jsonschema_rs.Draft202012Validator(schema)
        assert validator.is_valid(yaml.safe_load(DOCUMENT))
        assert not validator.is_valid({"name": "refund", "nodes": {"a": {"type": "lag"}}})


async def test_node_types_come_with_what_forms_are_made_from(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        answer = (await api.get("/node-types", key=tenant.viewer)).json()
        assert answer["nextCursor"] is None
        by_type = {each["type"]: each for each in answer["items"]}
        assert {"http_request", "python", "for_each", "approval"} <= set(by_type)
        assert by_type["condition"]["labels"] == ["true", "false"]
        assert "url" in by_type["http_request"]["configSchema"]["properties"]
        for name in ("icon", "category", "title", "outputSchema"):
            assert name in by_type["log"]


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/workflow/validate"), ("GET", "/workflow/schema"), ("GET", "/node-types")]
)
async def test_tooling_needs_a_credential(database_url: str, method: str, path: str) -> None:
    async with serving(database_url) as api:
        assert_problem(await api.request(method, path, key=None), 401, "unauthenticated")
