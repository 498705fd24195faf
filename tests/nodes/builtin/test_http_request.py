import asyncio
import base64
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from tests.nodes.servers import Received, client, reply, serving

from riven.core.errors import ErrorClass
from riven.nodes.builtin.http_request import HttpRequest, HttpRequestConfig
from riven.nodes.contract import NodeError
from riven.nodes.http_client import HttpClient
from riven.nodes.testing import FixedClock, cancel_node, check_node_type, node_context, run_node
from riven.wire.document import Json


async def fails(config: Mapping[str, Json], **more: float) -> NodeError:
    with pytest.raises(NodeError) as failed:
        await run_node(HttpRequest, config, **more)  # type: ignore[arg-type]
    return failed.value


def test_keeps_the_contract() -> None:
    check_node_type(HttpRequest)
    assert HttpRequest.default_timeout == 30.0


class TestRequest:
    async def test_gives_status_headers_body_and_time(self) -> None:
        async with serving(lambda _: reply(200, {"id": 7}, {"X-A": "b"})) as server:
            output = (await run_node(HttpRequest, {"url": server.url})).output
        assert (output["status"], output["body"], output["headers"]["x-a"]) == (200, {"id": 7}, "b")
        assert isinstance(output["elapsedMs"], int)

    async def test_query_is_added_encoded(self) -> None:
        query = {"a": "x y&z", "b": [1, True], "c": None, "d": 1.5, "ü": "ä"}
        async with serving(lambda _: reply()) as server:
            await run_node(HttpRequest, {"url": f"{server.url}/p?z=1#frag", "query": query})
            assert server.requests[0].target == "/p?z=1&a=x+y%26z&b=1&b=true&d=1.5&%C3%BC=%C3%A4"

    @pytest.mark.parametrize(
        ("body", "sent", "content_type"),
        [
            ({"json": {"a": [1, None]}}, b'{"a":[1,null]}', "application/json"),
            ({"json": None}, b"null", "application/json"),
            (
                {"form": {"a": "x y", "b": [1, 2], "c": None}},
                b"a=x+y&b=1&b=2",
                "application/x-www-form-urlencoded",
            ),
            ({"text": "hé"}, "hé".encode(), "text/plain; charset=utf-8"),
            ({"text": 7}, b"7", "text/plain; charset=utf-8"),
        ],
    )
    async def test_bodies(self, body: dict[str, Json], sent: bytes, content_type: str) -> None:
        async with serving(lambda _: reply()) as server:
            await run_node(HttpRequest, {"url": server.url, "method": "post", **body})
            request = server.requests[0]
        assert (request.method, request.body, request.headers["content-type"]) == ("POST", sent, content_type)

    async def test_the_authors_content_type_wins(self) -> None:
        config = {"method": "PATCH", "json": {}, "headers": {"content-type": "application/merge-patch+json"}}
        async with serving(lambda _: reply()) as server:
            await run_node(HttpRequest, {"url": server.url, **config})
            assert server.requests[0].headers["content-type"] == "application/merge-patch+json"

    @pytest.mark.parametrize(
        ("auth", "header"),
        [
            ({"bearer": "t0ken\n"}, "Bearer t0ken"),
            (
                {"basic": {"username": "ada", "password": "pä:ss"}},
                f"Basic {base64.b64encode('ada:pä:ss'.encode()).decode()}",
            ),
        ],
    )
    async def test_auth(self, auth: Json, header: str) -> None:
        async with serving(lambda _: reply()) as server:
            await run_node(HttpRequest, {"url": server.url, "auth": auth})
            assert server.requests[0].headers["authorization"] == header

    async def test_everything_but_reading_carries_the_key_of_its_step_in_every_attempt(self) -> None:
        async with serving(lambda _: reply()) as server:
            for method in ("POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "OPTIONS"):
                for attempt in (1, 2):
                    await run_node(
                        HttpRequest, {"url": server.url, "method": method}, attempt=attempt, path="pay"
                    )
            keys = {request.method: set() for request in server.requests}
            for request in server.requests:
                keys[request.method].add(request.headers.get("idempotency-key"))
        key = node_context(path="pay").idempotency_key
        assert keys == {
            **{method: {key} for method in ("POST", "PUT", "PATCH", "DELETE")},
            **{method: {None} for method in ("GET", "HEAD", "OPTIONS")},
        }

    async def test_an_idempotency_key_of_the_author_stays(self) -> None:
        async with serving(lambda _: reply()) as server:
            headers = {"idempotency-key": "mine"}
            await run_node(HttpRequest, {"url": server.url, "method": "POST", "headers": headers})
            assert server.requests[0].headers["idempotency-key"] == "mine"


class TestResponse:
    @pytest.mark.parametrize(
        ("raw", "parse", "body"),
        [
            (reply(200, b'{"a": 1}', {"Content-Type": "application/json"}), "auto", {"a": 1}),
            (
                reply(200, b'{"a": 1}', {"Content-Type": "application/hal+json; charset=utf-8"}),
                "auto",
                {"a": 1},
            ),
            (reply(200, b'{"a": 1}', {"Content-Type": "text/plain"}), "auto", '{"a": 1}'),
            (reply(200, b'{"a": 1}'), "json", {"a": 1}),
            (reply(200, b'{"a": 1}', {"Content-Type": "application/json"}), "text", '{"a": 1}'),
            (reply(200, b"<oops>", {"Content-Type": "application/json"}), "auto", "<oops>"),
            (reply(200, b"", {"Content-Type": "application/json"}), "auto", None),
            (reply(204), "auto", ""),
            (reply(200, b"\xfc", {"Content-Type": "text/plain; charset=latin-1"}), "auto", "ü"),
        ],
    )
    async def test_bodies_are_read_as_asked(self, raw: bytes, parse: str, body: Json) -> None:
        async with serving(lambda _: raw) as server:
            assert (await run_node(HttpRequest, {"url": server.url, "parse": parse})).output["body"] == body

    async def test_a_body_that_must_be_json_and_is_not_fails(self) -> None:
        async with serving(lambda _: reply(200, "<html>")) as server:
            error = await fails({"url": server.url, "parse": "json"})
        assert error.error_class is ErrorClass.VALIDATION_ERROR

    @pytest.mark.parametrize(
        ("ok", "status", "passes"),
        [
            (None, 200, True), (None, 399, True), (None, 400, False), (404, 404, True), (404, 200, False),
            ("404", 404, True), ("200-299", 299, True), ("200-299", 304, False), (["200-299", 404], 404, True),
            (["200-299", 404], 405, False), ([200, "500-599"], 503, True),
        ],
    )  # fmt: skip
    async def test_what_counts_as_well(self, ok: Json, status: int, passes: bool) -> None:  # noqa: FBT001
        async with serving(lambda _: reply(status)) as server:
            config = {"url": server.url} if ok is None else {"url": server.url, "okStatus": ok}
            if passes:
                assert (await run_node(HttpRequest, config)).output["status"] == status
            else:
                assert (await fails(config)).error_class is not None

    async def test_a_redirect_that_is_not_followed_is_a_result(self) -> None:
        async with serving(lambda _: reply(302, headers={"Location": "/x"})) as server:
            result = await run_node(HttpRequest, {"url": server.url, "followRedirects": False})
        assert result.output["headers"]["location"] == "/x"


class TestErrors:
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 499])
    async def test_4xx_is_not_retried(self, status: int) -> None:
        async with serving(lambda _: reply(status, headers={"Retry-After": "5"})) as server:
            error = await fails({"url": server.url})
        assert (error.error_class, error.retryable) == (ErrorClass.HTTP_CLIENT_ERROR, False)
        assert error.retry_after is None

    @pytest.mark.parametrize("status", [408, 425, 429])
    async def test_some_4xx_are_retried_when_the_server_says(self, status: int) -> None:
        async with serving(lambda _: reply(status, headers={"Retry-After": "5"})) as server:
            error = await fails({"url": server.url})
        assert (error.error_class, error.retryable, error.retry_after) == (
            ErrorClass.HTTP_CLIENT_ERROR,
            True,
            5.0,
        )

    @pytest.mark.parametrize("status", [500, 502, 503, 504])
    async def test_5xx_is_a_server_error(self, status: int) -> None:
        async with serving(lambda _: reply(status, headers={"Retry-After": "7"})) as server:
            error = await fails({"url": server.url})
        assert (error.error_class, error.retryable, error.retry_after) == (
            ErrorClass.HTTP_SERVER_ERROR,
            None,
            7.0,
        )

    @pytest.mark.parametrize(
        ("header", "pause"),
        [
            (format_datetime(datetime.fromtimestamp(1_900_000_030, UTC), usegmt=True), 30.0),
            (format_datetime(datetime.fromtimestamp(1_800_000_000, UTC), usegmt=True), 0.0),
            ("0", 0.0),
            ("999999999999", 86_400.0),
            ("soon", None),
            ("-5", None),
            ("1.5", None),
            ("Wed, 99 Foo 9999999 00:00:00 GMT", None),
            ("²", None),
        ],
    )
    async def test_retry_after_in_seconds_or_as_a_date(self, header: str, pause: float | None) -> None:
        async with serving(lambda _: reply(503, headers={"Retry-After": header})) as server:
            with pytest.raises(NodeError) as failed:
                await run_node(HttpRequest, {"url": server.url}, clock=FixedClock(1_900_000_000_000))
        assert failed.value.retry_after == pause

    async def test_the_message_says_what_was_asked_and_answered_without_the_query(self) -> None:
        body = "no such\n\n  order\x1b[31m " + "x" * 500
        async with serving(lambda _: reply(404, body)) as server:
            error = await fails({"url": f"{server.url}/orders/7", "query": {"token": "s3cret"}})
            assert error.message.startswith(
                f"GET {server.url}/orders/7?… answered 404 Words: no such order [31m xxx"
            )
        assert error.message.endswith("…")
        assert len(error.message) < 350
        assert "s3cret" not in error.message

    async def test_an_excerpt_is_redacted_before_it_is_cut(self) -> None:
        body = "x" * 195 + "s3cret-value"
        async with serving(lambda _: reply(400, body)) as server, client() as http:
            hiding = replace(
                node_context(services={HttpClient: http}),
                redact=lambda text: text.replace("s3cret-value", "***"),
            )
            with pytest.raises(NodeError) as failed:
                await HttpRequest().run(HttpRequestConfig.model_validate({"url": server.url}), hiding)
        assert failed.value.message.endswith("xxx***")

    async def test_a_server_that_dribbles_is_ended_by_the_nodes_timeout(self) -> None:
        async def dribble(request: Received) -> None:
            request.writer.write(b"HTTP/1.1 200 OK\r\n")
            while not request.writer.is_closing():
                request.writer.write(b"X-A: b\r\n")
                await request.writer.drain()
                await asyncio.sleep(0.005)

        async with serving(dribble) as server:
            error = await fails({"url": server.url}, timeout=0.05)
            assert error.error_class is ErrorClass.TIMEOUT
            await server.all_closed()

    async def test_cancellation_leaves_neither_task_nor_connection(self) -> None:
        arrived = asyncio.Event()

        async def silent(request: Received) -> None:
            arrived.set()
            await request.writer.wait_closed()

        async with serving(silent) as server:
            await cancel_node(HttpRequest, {"url": server.url}, once=arrived.wait())
            server.requests[0].writer.transport.abort()
            await server.all_closed()


class TestConfiguration:
    @pytest.mark.parametrize(
        ("config", "words"),
        [
            ({}, "url"),
            ({"url": ""}, "url"),
            ({"url": 5}, "url"),
            ({"url": "http://a", "method": "FETCH"}, "method"),
            ({"url": "http://a", "verb": "GET"}, "verb"),
            ({"url": "http://a", "json": 1, "text": "x"}, "only one of"),
            ({"url": "http://a", "form": {}, "text": "x"}, "only one of"),
            ({"url": "http://a", "auth": {}}, "exactly one of"),
            (
                {"url": "http://a", "auth": {"bearer": "x", "basic": {"username": "a", "password": "b"}}},
                "exactly one of",
            ),
            ({"url": "http://a", "auth": {"basic": {"username": "a:b", "password": "b"}}}, "colon"),
            ({"url": "http://a", "auth": {"bearer": "x"}, "headers": {"AUTHORIZATION": "y"}}, "either"),
            ({"url": "http://a", "headers": {"X": "a\r\nEvil: 1"}}, "line break"),
            ({"url": "http://a", "headers": {"Host": "b"}}, "cannot be set"),
            ({"url": "http://a", "headers": {"X": "1", "x": "2"}}, "twice"),
            ({"url": "http://a", "headers": {"X": None}}, "headers.X"),
            ({"url": "http://a", "query": {"a": {"b": 1}}}, "'a'"),
            ({"url": "http://a", "query": [1]}, "mapping"),
            ({"url": "http://a", "okStatus": []}, "at least one"),
            ({"url": "http://a", "okStatus": "299-200"}, "empty"),
            ({"url": "http://a", "okStatus": 99}, "no status"),
            ({"url": "http://a", "okStatus": True}, "no status"),
            ({"url": "http://a", "okStatus": "2xx"}, "no status"),
            ({"url": "http://a", "okStatus": {"a": 1}}, "no status"),
            ({"url": "http://a", "followRedirects": "yes"}, "followRedirects"),
            ({"url": "http://a", "parse": "xml"}, "parse"),
        ],
    )
    async def test_says_what_is_wrong(self, config: dict[str, Json], words: str) -> None:
        error = await fails(config)
        assert error.error_class is ErrorClass.VALIDATION_ERROR
        assert words in error.message

    async def test_a_bearer_cannot_break_out_of_its_header(self) -> None:
        async with serving(lambda _: reply()) as server:
            error = await fails({"url": server.url, "auth": {"bearer": "a\r\nEvil: 1"}})
            assert server.connections == 0
        assert error.error_class is ErrorClass.VALIDATION_ERROR
