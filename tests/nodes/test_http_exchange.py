import asyncio
import gzip
import socket
import zlib
from collections.abc import Awaitable
from typing import Any

import pytest
from tests.nodes.servers import Received, ScriptedResolver, Server, client, reply, serving

from riven.core.errors import ErrorClass
from riven.nodes.addresses import AddressPolicy
from riven.nodes.contract import NodeError
from riven.nodes.http_client import HttpAnswer, HttpCall, HttpClient, HttpLimits

MIB = 1024 * 1024


async def get(http: HttpClient, url: str, **more: Any) -> HttpAnswer:  # noqa: ANN401 - fields of HttpCall
    return await http.send(HttpCall(method=more.pop("method", "GET"), url=url, **more))


async def refused(sending: Awaitable[HttpAnswer], error_class: ErrorClass) -> str:
    with pytest.raises(NodeError) as failed:
        await sending
    assert failed.value.error_class is error_class, failed.value
    return str(failed.value)


def redirect(location: str, status: int = 302) -> bytes:
    return reply(status, headers={"Location": location})


class TestAddresses:
    @pytest.mark.parametrize(
        "host",
        [
            "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "[::ffff:a9fe:a9fe]",
            "[fd00:ec2::254]", "[fe80::1]", "0.0.0.0", "0", "[::]", "224.0.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
            "100.100.100.200", "255.255.255.255", "198.18.0.1", "[2001:db8::1]",
        ],
    )  # fmt: skip
    async def test_hostile_addresses_are_refused_without_a_connection_even_on_ones_own_machine(
        self, host: str
    ) -> None:
        async with client() as http:
            said = await refused(get(http, f"http://{host}/latest/meta-data"), ErrorClass.SECURITY_ERROR)
        assert "RIVEN_HTTP_ALLOW" in said

    @pytest.mark.parametrize(
        "host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "[::ffff:7f00:1]"]
    )
    async def test_a_server_reaches_no_loopback_however_it_is_spelt(self, host: str) -> None:
        async with serving(lambda _: reply()) as server, client(AddressPolicy.server()) as http:
            await refused(get(http, server.url_of(host)), ErrorClass.SECURITY_ERROR)
            assert server.connections == 0

    async def test_loopback_is_reached_on_ones_own_machine_in_every_spelling(self) -> None:
        async with serving(lambda _: reply()) as server, client() as http:
            for host in ("127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"):
                assert (await get(http, server.url_of(host))).status == 200

    async def test_what_the_setting_allows_is_reached(self) -> None:
        async with serving(lambda _: reply()) as server:
            async with client(AddressPolicy.server([f"127.0.0.1:{server.port}"])) as http:
                assert (await get(http, server.url)).status == 200
            async with client(AddressPolicy.server([f"127.0.0.1:{server.port + 1}"])) as http:
                await refused(get(http, server.url), ErrorClass.SECURITY_ERROR)

    async def test_one_refused_address_among_good_ones_refuses_the_host(self) -> None:
        resolver = ScriptedResolver({"shop.example": [["127.0.0.1", "169.254.169.254"]]})
        async with serving(lambda _: reply()) as server, client(resolver=resolver) as http:
            await refused(get(http, server.url_of("shop.example")), ErrorClass.SECURITY_ERROR)
            assert server.connections == 0

    async def test_the_connection_goes_to_the_address_that_was_checked(self) -> None:
        # The second answer is what a rebinding attacker gives between check and connect: nobody must ask for it.
        resolver = ScriptedResolver({"shop.example": [["127.0.0.1"], ["169.254.169.254"]]})
        async with serving(lambda _: reply(200, "yes")) as server, client(resolver=resolver) as http:
            answer = await get(http, server.url_of("shop.example"))
            assert answer.body == b"yes"
            assert resolver.asked == ["shop.example"]
            assert server.requests[0].headers["host"] == f"shop.example:{server.port}"

    async def test_a_name_that_points_elsewhere_the_next_time_is_checked_anew(self) -> None:
        resolver = ScriptedResolver({"shop.example": [["127.0.0.1"], ["10.255.255.1", "169.254.169.254"]]})
        closing = reply(headers={"Connection": "close"})
        async with serving(lambda _: closing) as server, client(resolver=resolver) as http:
            await get(http, server.url_of("shop.example"))
            await refused(get(http, server.url_of("shop.example")), ErrorClass.SECURITY_ERROR)

    async def test_an_unknown_host_is_a_network_error(self) -> None:
        class Unknown:
            async def __call__(self, host: str, port: int) -> list[str]:
                raise socket.gaierror(socket.EAI_NONAME, f"not known: {host}:{port}")

        async with client(resolver=Unknown()) as http:
            said = await refused(get(http, "http://shop.example/x?token=t"), ErrorClass.NETWORK_ERROR)
        assert said.startswith("GET http://shop.example/x?…: the host shop.example cannot be found")

    async def test_the_second_address_is_tried_when_the_first_refuses(self) -> None:
        resolver = ScriptedResolver({"shop.example": [["127.0.0.2", "127.0.0.1"]]})
        async with serving(lambda _: reply()) as server, client(resolver=resolver) as http:
            assert (await get(http, server.url_of("shop.example"))).status == 200

    async def test_a_closed_port_is_a_network_error_that_says_so(self) -> None:
        async with serving(lambda _: reply()) as server:
            url = server.url
        async with client() as http:
            assert "refused" in (await refused(get(http, url), ErrorClass.NETWORK_ERROR)).lower()

    @pytest.mark.parametrize(
        "url", ["file:///etc/passwd", "ftp://a/", "http://u:p@a/", "http://[fe80::1%25lo]/"]
    )
    async def test_other_schemes_and_users_are_refused(self, url: str) -> None:
        async with client() as http:
            await refused(get(http, url), ErrorClass.SECURITY_ERROR)

    async def test_proxies_of_the_environment_are_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        async with serving(lambda _: reply(200, "direct")) as server, client() as http:
            assert (await get(http, server.url)).body == b"direct"

    async def test_tls_asks_for_the_name_and_not_for_the_address(self) -> None:
        hello = asyncio.get_running_loop().create_future()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            hello.set_result(await reader.read(4_096))
            writer.close()

        listening = await asyncio.start_server(listen, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        async with client(resolver=ScriptedResolver({"shop.example": [["127.0.0.1"]]})) as http:
            await refused(get(http, f"https://shop.example:{port}/"), ErrorClass.NETWORK_ERROR)
        listening.close()
        assert b"shop.example" in await hello


class TestRedirects:
    async def test_are_followed_and_resolved_against_where_they_came_from(self) -> None:
        answers = {"/a/b": redirect("c?x=1"), "/a/c?x=1": redirect("/d", 307), "/d": reply(200, "there")}
        async with serving(lambda r: answers[r.target]) as server, client() as http:
            answer = await get(http, f"{server.url}/a/b")
        assert (answer.status, answer.body, answer.redirects) == (200, b"there", 2)

    async def test_are_left_to_the_caller_who_wants_them(self) -> None:
        async with serving(lambda _: redirect("/x")) as server, client() as http:
            answer = await get(http, server.url, follow_redirects=False)
        assert (answer.status, answer.headers["location"]) == (302, "/x")

    async def test_end_after_five(self) -> None:
        async with serving(lambda r: redirect(f"/{int(r.target[1:]) + 1}")) as server, client() as http:
            said = await refused(get(http, f"{server.url}/0"), ErrorClass.SECURITY_ERROR)
            assert len(server.requests) == 6
        assert "more than 5 redirects" in said

    async def test_five_are_followed(self) -> None:
        def answer(request: Received) -> bytes:
            step = int(request.target[1:])
            return redirect(f"/{step + 1}") if step < 5 else reply(200, "end")

        async with serving(answer) as server, client() as http:
            assert (await get(http, f"{server.url}/0")).body == b"end"

    @pytest.mark.parametrize(
        "location",
        [
            "http://169.254.169.254/latest", "//169.254.169.254/latest", "http://2852039166/", "http://[::ffff:a9fe:a9fe]/",
            "http://[64:ff9b::a9fe:a9fe]/", "file:///etc/passwd", "gopher://127.0.0.1/", "http://evil@127.0.0.1/",
            "http://0/",
        ],
    )  # fmt: skip
    async def test_to_forbidden_places_are_refused(self, location: str) -> None:
        async with serving(lambda _: redirect(location)) as server, client() as http:
            await refused(get(http, server.url), ErrorClass.SECURITY_ERROR)

    async def test_to_a_name_that_resolves_to_a_private_address_are_refused(self) -> None:
        resolver = ScriptedResolver({"good.example": [["127.0.0.1"]], "bad.example": [["127.0.0.1"]]})
        async with serving(lambda _: redirect(f"http://bad.example:{server.port}/")) as server:
            policy = AddressPolicy.server([f"good.example:{server.port}"])
            async with client(policy, resolver=resolver) as http:
                said = await refused(get(http, server.url_of("good.example")), ErrorClass.SECURITY_ERROR)
            assert len(server.requests) == 1
        assert "bad.example (127.0.0.1) is a loopback address" in said

    @pytest.mark.parametrize("location", ["http://:80/", "http://a b/", "http://a:x/", "http://[::1/"])
    async def test_to_nowhere_are_refused_in_words(self, location: str) -> None:
        async with serving(lambda _: redirect(location)) as server, client() as http:
            await refused(get(http, server.url), ErrorClass.VALIDATION_ERROR)

    @pytest.mark.parametrize(
        ("status", "method", "then", "body"),
        [
            (301, "POST", "GET", b""),
            (302, "POST", "GET", b""),
            (303, "POST", "GET", b""),
            (303, "PUT", "GET", b""),
            (302, "PUT", "PUT", b"{}"),
            (307, "POST", "POST", b"{}"),
            (308, "POST", "POST", b"{}"),
            (303, "HEAD", "HEAD", b""),
        ],
    )
    async def test_change_the_method_as_browsers_do(
        self, status: int, method: str, then: str, body: bytes
    ) -> None:
        async with (
            serving(lambda r: redirect("/x", status) if r.target == "/" else reply()) as server,
            client() as http,
        ):
            sent = None if method == "HEAD" else b"{}"
            fields = [("Content-Type", "application/json"), ("Idempotency-Key", "k")]
            await get(http, server.url, method=method, body=sent, headers=fields)
            second = server.requests[1]
        assert (second.method, second.body) == (then, body)
        assert ("content-type" in second.headers) == (then == method)
        assert ("idempotency-key" in second.headers) == (then == method)

    async def test_to_another_origin_lose_what_speaks_of_credentials_for_good(self) -> None:
        resolver = ScriptedResolver({"one.example": [["127.0.0.1"]], "two.example": [["127.0.0.1"]]})
        secret = [("Authorization", "Bearer t"), ("Cookie", "c"), ("X-Api-Key", "k"), ("X-Auth-Token", "t")]
        places = ["one.example/2", "two.example/3", "one.example/4"]

        def answer(request: Received) -> bytes:
            return (
                redirect(f"http://{next_place[request.target]}") if request.target in next_place else reply()
            )

        async with serving(answer) as server, client(resolver=resolver) as http:
            full = [place.replace(".example", f".example:{server.port}") for place in places]
            next_place = {"/1": full[0], "/2": full[1], "/3": full[2]}
            url = f"{server.url_of('one.example')}/1"
            await get(http, url, headers=[*secret, ("X-Trace", "x")])
            seen = [
                {name.lower() for name, _ in secret} & set(request.headers) for request in server.requests
            ]
            assert [len(each) for each in seen] == [4, 4, 0, 0]
            assert all(request.headers["x-trace"] == "x" for request in server.requests)

    async def test_without_a_location_are_the_answer(self) -> None:
        async with serving(lambda _: reply(304)) as server, client() as http:
            assert (await get(http, server.url)).status == 304


class TestBounds:
    async def test_a_body_above_the_cap_is_refused_while_it_comes(self) -> None:
        async def endless(request: Received) -> None:
            request.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                request.writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                await request.writer.drain()

        async with serving(endless) as server, client() as http:
            said = await refused(get(http, server.url), ErrorClass.VALIDATION_ERROR)
            await server.all_closed()
        assert "larger than 16,777,216 bytes" in said

    async def test_a_body_at_the_cap_is_taken(self) -> None:
        limits = HttpLimits(body_bytes=1_000)
        async with (
            serving(lambda r: reply(200, b"x" * int(r.target[1:]))) as server,
            client(limits=limits) as http,
        ):
            assert len((await get(http, f"{server.url}/1000")).body) == 1_000
            await refused(get(http, f"{server.url}/1001"), ErrorClass.VALIDATION_ERROR)

    @pytest.mark.parametrize("coding", ["gzip", "deflate"])
    async def test_a_bomb_is_refused_as_it_unpacks(self, coding: str) -> None:
        pack = zlib.compressobj(9, zlib.DEFLATED, 31 if coding == "gzip" else 15)
        bomb = b"".join(pack.compress(b"\0" * MIB) for _ in range(32)) + pack.flush()
        assert len(bomb) < MIB
        packed = reply(200, bomb, {"Content-Encoding": coding})
        async with serving(lambda _: packed) as server, client() as http:
            said = await refused(get(http, server.url), ErrorClass.VALIDATION_ERROR)
        assert "when unpacked" in said

    async def test_packed_bodies_are_unpacked(self) -> None:
        packed = reply(200, gzip.compress(b"hello"), {"Content-Encoding": "gzip"})
        async with serving(lambda _: packed) as server, client() as http:
            assert (await get(http, server.url)).body == b"hello"
            assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"

    async def test_a_packing_that_was_not_asked_for_is_refused(self) -> None:
        async with (
            serving(lambda _: reply(200, b"x", {"Content-Encoding": "br"})) as server,
            client() as http,
        ):
            await refused(get(http, server.url), ErrorClass.VALIDATION_ERROR)

    async def test_a_body_that_ends_early_is_a_network_error(self) -> None:
        async def broken(request: Received) -> None:
            request.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

        async with serving(broken) as server, client() as http:
            await refused(get(http, server.url), ErrorClass.NETWORK_ERROR)

    @pytest.mark.parametrize(
        "raw",
        [
            b"nonsense\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
            b"HTTP/1.1 101 Switching\r\n\r\n",
            b"",
        ],
    )
    async def test_what_is_not_http_is_a_network_error(self, raw: bytes) -> None:
        async def broken(request: Received) -> None:
            request.writer.write(raw)

        async with serving(broken) as server, client() as http:
            await refused(get(http, server.url), ErrorClass.NETWORK_ERROR)

    async def test_a_host_that_never_connects_is_a_timeout(self) -> None:
        class Stuck:
            async def __call__(self, host: str, port: int) -> list[str]:  # noqa: ARG002 - the port's signature
                return await asyncio.get_running_loop().create_future()

        async with client(resolver=Stuck(), limits=HttpLimits(connect_seconds=0.02)) as http:
            said = await refused(get(http, "http://shop.example/"), ErrorClass.TIMEOUT)
        assert "no connection to shop.example within 0.02 s" in said

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("X", "a\r\nEvil: 1"), ("X", "a\nb"), ("X", "a\0b"), ("X\r\nEvil", "1"), ("", "x"), ("X Y", "1"), ("X:", "1"),
            ("Host", "other"), ("Content-Length", "3"), ("transfer-encoding", "chunked"), ("Connection", "x"),
            ("Proxy-Authorization", "x"),
        ],
    )  # fmt: skip
    async def test_headers_cannot_break_out(self, name: str, value: str) -> None:
        async with serving(lambda _: reply()) as server, client() as http:
            await refused(get(http, server.url, headers=[(name, value)]), ErrorClass.VALIDATION_ERROR)
            assert server.connections == 0


class TestConnections:
    async def test_are_used_again(self) -> None:
        async with serving(lambda _: reply()) as server, client() as http:
            for _ in range(3):
                await get(http, server.url)
            assert server.connections == 1

    async def test_cookies_do_not_travel_from_one_request_to_the_next(self) -> None:
        async with serving(lambda _: reply(headers={"Set-Cookie": "a=1"})) as server, client() as http:
            await get(http, server.url)
            await get(http, server.url)
            assert "cookie" not in server.requests[1].headers

    async def test_one_that_closes_as_it_is_used_again_is_replaced_for_a_get(self) -> None:
        async def answer(request: Received) -> bytes | None:
            return None if request.connection == 0 and len(server.requests) > 1 else reply(200, "ok")

        async with serving(answer) as server, client() as http:
            await get(http, server.url)
            assert (await get(http, server.url)).body == b"ok"
            assert [request.connection for request in server.requests] == [0, 0, 1]

    async def test_one_that_closes_as_it_is_used_again_is_no_licence_to_repeat_a_post(self) -> None:
        async def answer(request: Received) -> bytes | None:
            return None if request.method == "POST" else reply()

        async with serving(answer) as server, client() as http:
            await get(http, server.url)
            await refused(get(http, server.url, method="POST", body=b""), ErrorClass.NETWORK_ERROR)
            assert len(server.requests) == 2

    async def test_to_one_host_are_bounded_and_the_rest_wait_in_order(self) -> None:
        release = asyncio.Event()
        arrived = asyncio.Semaphore(0)

        async def answer(_: Received) -> bytes:
            arrived.release()
            await release.wait()
            return reply()

        async with serving(answer) as server, client(limits=HttpLimits(per_host=2)) as http:
            async with asyncio.TaskGroup() as group:
                for _ in range(6):
                    group.create_task(get(http, server.url))
                await arrived.acquire()
                await arrived.acquire()
                assert server.connections == 2
                release.set()
            assert len(server.requests) == 6
            assert server.connections == 2

    @pytest.mark.parametrize("stage", ["silent", "headers", "body"])
    async def test_canceling_closes_them(self, stage: str) -> None:
        begun = asyncio.Event()

        async def dribble(request: Received) -> None:
            if stage != "silent":
                request.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n")
            if stage == "body":
                request.writer.write(b"\r\nx")
            await request.writer.drain()
            begun.set()
            await request.writer.wait_closed()

        async with serving(dribble) as server, client() as http:
            sending = asyncio.ensure_future(get(http, server.url))
            await begun.wait()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            assert http._exchange is not None
            assert [pool.connections for pool in http._exchange._pools.values()] == [[]]  # type: ignore[attr-defined]
            assert not http._exchange._gates  # type: ignore[attr-defined]
            abort(server)

    async def test_are_closed_with_the_client(self) -> None:
        async with serving(lambda _: reply()) as server:
            async with client() as http:
                await get(http, server.url)
            await server.all_closed()

    async def test_closing_twice_is_safe_and_a_later_request_opens_anew(self) -> None:
        async with serving(lambda _: reply()) as server, client() as http:
            await get(http, server.url)
            await http.aclose()
            await http.aclose()
            assert (await get(http, server.url)).status == 200


def abort(server: Server) -> None:
    for request in server.requests:
        request.writer.transport.abort()


async def test_repeated_response_headers_are_joined_under_small_names() -> None:
    fields = [("X-A", "1"), ("x-a", "2"), ("Set-Cookie", "a"), ("Set-Cookie", "b")]
    async with serving(lambda _: reply(headers=fields)) as server, client() as http:
        answer = await get(http, server.url)
    assert answer.headers["x-a"] == "1, 2"
    assert answer.headers["set-cookie"] == "a, b"


async def test_a_body_has_its_length_and_no_body_has_none() -> None:
    async with serving(lambda _: reply()) as server, client() as http:
        await get(http, server.url, method="POST", body=b"abc")
        await get(http, server.url, method="POST")
        await get(http, server.url)
        lengths = [request.headers.get("content-length") for request in server.requests]
    assert lengths == ["3", "0", None]
