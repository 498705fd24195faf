import asyncio
from typing import Annotated, Literal
from uuid import UUID

import pytest
from fastapi import Body, Depends, Header, Path, Query
from pydantic import Field
from starlette.responses import Response
from starlette.types import Message
from tests.api.harness import Api, assert_problem, serving

from riven.api.binding import Operation, PublicOperation
from riven.api.deps import Admin, Viewer
from riven.api.fields import Flag, Moment, Name, RequestBody, Whole
from riven.api.requests import ApiRequest
from riven.api.responses import JsonResponse

ID = "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11"


class Inner(RequestBody):
    amount: Whole = 0
    kind: Literal["LARGE", "SMALL"] = "SMALL"


class Order(RequestBody):
    order_name: Name
    inner: Inner = Inner()
    many: Annotated[list[Inner], Field(default_factory=list)]
    paid: Flag = False
    due_at: Moment | None = None
    labels: Annotated[dict[str, str], Field(max_length=2, default_factory=dict)]


def doubled(limit: Annotated[int, Query(ge=1, le=10)] = 5) -> int:
    return 2 * limit


async def everything(
    request: ApiRequest,
    order_id: Annotated[UUID, Path(alias="orderId")],
    body: Annotated[Order, Body()],
    twice: Annotated[int, Depends(doubled)],
    status: Annotated[list[str] | None, Query()] = None,
    key: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Response:
    return JsonResponse(
        {
            "id": order_id,
            "name": body.order_name,
            "set": sorted(body.model_fields_set),
            "twice": twice,
            "status": status,
            "key": key,
            "who": request.principal.name,
        }
    )


async def plain(request: ApiRequest) -> Response:
    return JsonResponse({"size": len(await request.body())})


async def optional(body: Annotated[Order | None, Body()] = None) -> Response:
    return JsonResponse({"body": None if body is None else body.order_name})


async def guarded(scope: Admin, body: Annotated[Order, Body()]) -> Response:
    return JsonResponse({"workspace": scope.workspace_id, "name": body.order_name})


async def seen(scope: Viewer) -> Response:
    return JsonResponse({"workspace": scope.workspace_id})


async def broken() -> Response:
    raise ZeroDivisionError("the stack of this must not be seen")


def extend(api: Api) -> None:
    api.app.router.routes[:0] = [
        Operation("/api/v1/orders/{orderId}", everything, methods=["PUT"]),
        Operation("/api/v1/plain", plain, methods=["POST"]),
        Operation("/api/v1/optional", optional, methods=["POST"]),
        Operation("/api/v1/workspaces/{workspaceId}/guarded", guarded, methods=["POST"]),
        Operation("/api/v1/workspaces/{workspaceId}/seen", seen, methods=["GET"]),
        PublicOperation("/broken", broken, methods=["GET"]),
    ]


async def test_a_signature_is_given_what_it_asks_for(database_url: str) -> None:
    async with serving(database_url) as api:
        extend(api)
        answer = await api.put(
            f"/orders/{ID}?limit=7&status=A&status=B",
            {"orderName": " x ", "many": [{}]},
            headers={"idempotency-key": "k"},
        )
        assert answer.status_code == 200
        assert answer.json() == {
            "id": ID,
            "name": "x",
            "set": ["many", "order_name"],
            "twice": 14,
            "status": ["A", "B"],
            "key": "k",
            "who": "tests",
        }
        plainly = await api.put(f"/orders/{ID}", {"orderName": "x"})
        assert {name: plainly.json()[name] for name in ("twice", "status", "key")} == {
            "twice": 10,
            "status": None,
            "key": None,
        }


async def test_a_body_is_refused_with_every_place_that_is_wrong(
    database_url: str, subtests: pytest.Subtests
) -> None:
    async with serving(database_url) as api:
        extend(api)
        for body, errors in [
            ({}, {"orderName": "missing_field"}),
            ({"orderName": ""}, {"orderName": "invalid_value"}),
            ({"orderName": "  "}, {"orderName": "invalid_value"}),
            ({"orderName": "a\0b"}, {"orderName": "invalid_value"}),
            ({"orderName": 7}, {"orderName": "wrong_type"}),
            ({"order_name": "x"}, {"order_name": "unknown_field"}),
            ({"orderName": "x", "inner": {"amount": "7"}}, {"inner.amount": "wrong_type"}),
            ({"orderName": "x", "inner": {"amount": True}}, {"inner.amount": "wrong_type"}),
            ({"orderName": "x", "inner": {"amount": 1.5}}, {"inner.amount": "wrong_type"}),
            ({"orderName": "x", "inner": {"kind": "large"}}, {"inner.kind": "invalid_value"}),
            (
                {"orderName": "x", "many": [{}, {"amont": 1}, {"amount": None}]},
                {"many[1].amont": "unknown_field", "many[2].amount": "wrong_type"},
            ),
            ({"orderName": "x", "many": {}}, {"many": "wrong_type"}),
            ({"orderName": "x", "paid": "true"}, {"paid": "wrong_type"}),
            ({"orderName": "x", "dueAt": "2026-11-19T08:30:00"}, {"dueAt": "invalid_value"}),
            ({"orderName": "x", "dueAt": "tomorrow"}, {"dueAt": "invalid_value"}),
            ({"orderName": "x", "dueAt": 7}, {"dueAt": "invalid_value"}),
            ({"orderName": "x", "labels": {"a": 1}}, {"labels.a": "wrong_type"}),
            ({"orderName": "x", "labels": {"a.b": 1}}, {'labels["a.b"]': "wrong_type"}),
            ({"orderName": "x", "labels": {"a": "", "b": "", "c": ""}}, {"labels": "invalid_value"}),
            ([], {"": "wrong_type"}),
            ("x", {"": "wrong_type"}),
            (7, {"": "wrong_type"}),
        ]:
            with subtests.test(body=body):
                answer = await api.put(f"/orders/{ID}", body)
                problem = assert_problem(answer, 422, "invalid_request", *errors)
                assert {each["path"]: each["code"] for each in problem["errors"]} == errors
                assert all(each["message"] for each in problem["errors"])


async def test_a_misspelt_field_is_told_its_name(database_url: str) -> None:
    async with serving(database_url) as api:
        extend(api)
        answer = await api.put(f"/orders/{ID}", {"ordername": "x"})
        assert "did you mean 'orderName'?" in answer.json()["errors"][0]["message"]
        asked = await api.put(f"/orders/{ID}?statsu=A&Limit=1", {"orderName": "x"})
        problem = assert_problem(asked, 422, "invalid_request", "statsu", "Limit")
        assert "did you mean 'status'?" in problem["errors"][0]["message"]
        assert "did you mean 'limit'?" in problem["errors"][1]["message"]


async def test_a_wrong_query_is_refused_by_its_name(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        extend(api)
        for query in ["limit=0", "limit=11", "limit=x", "limit=", "limit=99999999999999999999"]:
            with subtests.test(query=query):
                assert_problem(
                    await api.put(f"/orders/{ID}?{query}", {"orderName": "x"}),
                    422,
                    "invalid_request",
                    "limit",
                )


async def test_there_is_nothing_at_an_address_whose_id_is_none(
    database_url: str, subtests: pytest.Subtests
) -> None:
    async with serving(database_url) as api:
        extend(api)
        for name in ["x", "7", "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b1", "%00", "null"]:
            with subtests.test(name=name):
                assert_problem(await api.put(f"/orders/{name}", {"orderName": "x"}), 404, "not_found")


async def test_what_is_no_json_is_400(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        extend(api)
        for body in [b"{", b"", b'{"orderName": NaN}', b"orderName=x"]:
            with subtests.test(body=body):
                answer = await api.request("PUT", f"/orders/{ID}", content=body)
                assert_problem(answer, 400, "malformed_json")


async def test_an_optional_body_may_be_missing_but_not_wrong(database_url: str) -> None:
    async with serving(database_url) as api:
        extend(api)
        assert (await api.post("/optional")).json() == {"body": None}
        assert (await api.post("/optional", {"orderName": "x"})).json() == {"body": "x"}
        assert_problem(await api.post("/optional", {}), 422, "invalid_request", "orderName")


async def test_credentials_come_first_then_the_role_then_the_body(database_url: str) -> None:
    """So that nobody learns from an answer what he may not see, nor has us read what he may not send."""
    async with serving(database_url) as api:
        extend(api)
        here, there = await api.workspace("a"), await api.workspace("b")
        path, bad = f"/workspaces/{here.id}/guarded", b"{"
        too_long = b" " * (2 << 20)
        for content in (bad, too_long):
            assert_problem(await api.request("POST", path, key=None, content=content), 401, "unauthenticated")
        assert_problem(
            await api.request("POST", path, key=there.admin, content=bad), 403, "foreign_workspace"
        )
        for content in (bad, too_long):
            answer = await api.request("POST", f"{path}?unknown=1", key=here.editor, content=content)
            assert_problem(answer, 403, "forbidden")
        assert_problem(await api.request("POST", path, key=here.admin, content=bad), 400, "malformed_json")
        assert_problem(await api.request("POST", path, key=here.admin, content=too_long), 413, "too_large")
        good = await api.post(path, {"orderName": "x"}, key=here.admin)
        assert good.json() == {"workspace": str(here.id), "name": "x"}


async def test_unknown_workspaces_are_404_and_foreign_ones_403(database_url: str) -> None:
    async with serving(database_url) as api:
        extend(api)
        here, there = await api.workspace("a"), await api.workspace("b")
        for key in (here.viewer, here.admin, api.platform):
            assert_problem(await api.get(f"/workspaces/{ID}/seen", key=key), 404, "workspace_not_found")
            assert (await api.get(f"/workspaces/{here.id}/seen", key=key)).status_code == 200
        assert_problem(
            await api.get(f"/workspaces/{there.id}/seen", key=here.admin), 403, "foreign_workspace"
        )
        assert (await api.get(f"/workspaces/{there.id}/seen", key=api.platform)).status_code == 200


async def test_a_bad_credential_is_401(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        for header in [
            "",
            "Bearer",
            "Bearer ",
            "Basic dXNlcjpwYXNz",
            "rvn_x",
            "Bearer rvn_x",
            "Bearer a b",
            "Bearer \xe9",
        ]:
            with subtests.test(header=header):
                headers = {"Authorization": header.encode("latin-1")}
                answer = await api.client.get("/api/v1/workspaces", headers=headers)
                assert_problem(answer, 401, "unauthenticated")
                assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_the_scheme_is_read_in_any_case(database_url: str) -> None:
    async with serving(database_url) as api:
        headers = {"authorization": f"bearer   {api.platform} "}
        assert (await api.client.get("/api/v1/workspaces", headers=headers)).status_code == 200


async def test_a_mistake_of_ours_is_a_problem_with_an_id_and_no_stack(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(database_url) as api:
        extend(api)
        answer = await api.get("/broken", root=True)
        problem = assert_problem(answer, 500, "internal_error")
        assert "stack" not in answer.text
        assert "ZeroDivision" not in answer.text
    record = next(each for each in caplog.records if each.message == "request_failed")
    assert record.errorId in problem["detail"]  # type: ignore[attr-defined]
    assert record.exc_info is not None
    assert record.levelname == "ERROR"


async def test_a_client_that_goes_away_while_it_sends_gets_no_answer_and_does_no_harm(
    database_url: str,
) -> None:
    async with serving(database_url) as api:
        extend(api)
        sent: list[Message] = []
        messages = [
            {"type": "http.request", "body": b"{", "more_body": True},
            {"type": "http.disconnect"},
        ]

        async def receive() -> Message:
            return messages.pop(0)

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/v1/plain",
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {api.platform}".encode())],
        }
        await asyncio.wait_for(api.app(scope, receive, send), 5)
        assert sent == []


def test_a_parameter_from_nowhere_is_a_mistake_that_shows_at_the_start() -> None:
    async def endpoint(name: str) -> Response:
        return Response(name)

    with pytest.raises(TypeError, match="name is not Annotated"):
        Operation("/x", endpoint, methods=["GET"])
