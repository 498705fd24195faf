import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from riven.api.problems import ProblemError
from riven.api.requests import BODY_LIMIT, ApiRequest, check_media_type, decode_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)  # fmt: skip


@given(VALUES)
def test_json_is_read_as_it_was_written(value: object) -> None:
    assert decode_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"{",
        b"{'a': 1}",
        b'{"a": 1,}',
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b'"\\ud800"',
        b'"\xff"',
        b"[" * 5_000 + b"]" * 5_000,
        b"{} {}",
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(ProblemError) as refused:
        decode_json(body)
    assert refused.value.kind.code == "malformed_json"
    assert refused.value.kind.status == 400


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b'{"input": {"amount": 9223372036854775808}}', ["input.amount"]),
        (b'{"a": [1, 18446744073709551616, -9223372036854775809]}', ["a[1]", "a[2]"]),
        (b"[" + b"9" * 10_000 + b"]", []),
        (b'{"a": 18446744073709551615, "b": "\\"9223372036854775808"}', ["a"]),
    ],
)
def test_integers_beyond_64_bits_are_refused_where_they_stand(body: bytes, paths: list[str]) -> None:
    with pytest.raises(ProblemError) as refused:
        decode_json(body)
    assert refused.value.kind.status in (400, 422)
    assert [problem.path for problem in refused.value.problems] == paths


@pytest.mark.parametrize(
    "body",
    [
        b"9223372036854775807",
        b"-9223372036854775808",
        b"1.2345678901234567890123",
        b"12345678901234567890.5",
        b"10000000000000000000000e-10",
        b'"18446744073709551616"',
        b'"\\\\18446744073709551616"',
        b'{"18446744073709551616": "a \\" 18446744073709551616"}',
    ],
)
def test_numbers_that_fit_and_digits_in_texts_are_taken(body: bytes) -> None:
    assert decode_json(body) == json.loads(body)


def request(
    chunks: list[bytes], *headers: tuple[bytes, bytes], limit: int = BODY_LIMIT
) -> tuple[ApiRequest, list[int]]:
    """A request, and how much of it was taken."""
    taken: list[int] = []
    waiting = list(chunks)

    async def receive() -> Message:
        chunk = waiting.pop(0)
        taken.append(len(chunk))
        return {"type": "http.request", "body": chunk, "more_body": bool(waiting)}

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": list(headers)}
    return ApiRequest(scope, receive, None, limit), taken  # type: ignore[arg-type]


async def test_a_body_of_exactly_the_limit_is_read_and_kept() -> None:
    asked, taken = request([b"a" * (BODY_LIMIT - 1), b"b"])
    assert len(await asked.body()) == BODY_LIMIT
    assert (await asked.body()).endswith(b"ab")
    assert len(taken) == 2


async def test_a_longer_body_is_refused_while_it_comes() -> None:
    asked, taken = request([b"a" * BODY_LIMIT, b"b", *[b"c" * 1_000] * 1_000])
    with pytest.raises(ProblemError) as refused:
        await asked.body()
    assert refused.value.kind.status == 413
    assert "1 MiB" in refused.value.message
    assert len(taken) == 2


@pytest.mark.parametrize("length", [b"1048577", b"9" * 400])
async def test_a_body_that_says_that_it_is_longer_is_not_even_read(length: bytes) -> None:
    asked, taken = request([b"{}"], (b"content-length", length))
    with pytest.raises(ProblemError) as refused:
        await asked.body()
    assert refused.value.kind.status == 413
    assert taken == []


@pytest.mark.parametrize(
    "declared", [b"application/json", b"Application/JSON; charset=utf-8", b"application/x+json", b""]
)
def test_json_is_taken_however_it_is_declared(declared: bytes) -> None:
    asked, _ = request([b"{}"], (b"content-type", declared))
    check_media_type(asked.scope)
    check_media_type(request([b"{}"])[0].scope)


@pytest.mark.parametrize(
    "declared", [b"text/plain", b"application/x-www-form-urlencoded", b"\xff", b"application/jsonl"]
)
def test_a_body_that_is_declared_as_something_else_is_refused(declared: bytes) -> None:
    asked, _ = request([b"{}"], (b"content-type", declared))
    with pytest.raises(ProblemError) as refused:
        check_media_type(asked.scope)
    assert refused.value.kind.status == 415
