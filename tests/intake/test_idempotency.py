from uuid import uuid4

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.kit import opened

from riven.intake.errors import KeyReusedError
from riven.intake.idempotency import Answered, find_answered, hash_request, make_key
from riven.tenancy.errors import InvalidRequestError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.just(2**62) | st.floats(allow_nan=False, allow_infinity=False) | st.text('ab.0e\\"'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abe.0", max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def shuffled(value):
    if isinstance(value, dict):
        return {name: shuffled(value[name]) for name in reversed(value)}
    if isinstance(value, list):
        return [shuffled(each) for each in value]
    return float(value) if type(value) is int else value


def same(one, two) -> bool:
    """JSON's own idea of equality, in which 1 is 1.0 and true is not 1."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[name], two[name]) for name in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    return isinstance(one, bool) == isinstance(two, bool) and one == two


@given(JSON)
def test_how_a_value_is_written_does_not_matter(value) -> None:
    rewritten = orjson.loads(orjson.dumps(shuffled(value), option=orjson.OPT_INDENT_2))
    assert hash_request("start", value) == hash_request("start", rewritten)


@given(JSON, JSON)
def test_equal_hashes_are_equal_values(one, two) -> None:
    assert (hash_request("start", one) == hash_request("start", two)) is same(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, True),
        (0, None),
        ("1", 1),
        ([], {}),
        ({"a": None}, {}),
        ("a:1.0,", "a:1,"),
        ([1, 2], [2, 1]),
        (2**60 + 1, 2.0**60),
    ],
)
def test_different_values_differ(one, two) -> None:
    assert hash_request("start", one) != hash_request("start", two)


def test_the_operation_is_a_part_of_the_request() -> None:
    assert hash_request("rerun 1", {}) != hash_request("rerun 2", {})


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "é", "a\0", "\x7f"])
def test_a_key_is_printable_and_not_too_long(key: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        make_key(uuid4(), key, "start", {})
    assert [each.path for each in refused.value.problems] == ["Idempotency-Key"]


def test_a_key_may_be_anything_else() -> None:
    assert make_key(uuid4(), " ~" * 100, "start", {}).key == " ~" * 100


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        make_key(uuid4(), "k", "start", {"a": object()})


def test_another_request_with_the_key_is_refused() -> None:
    key = make_key(uuid4(), "k", "start", {"a": 1})
    Answered(key.request_hash, []).check(key)
    with pytest.raises(KeyReusedError, match="another request"):
        Answered(b"other", []).check(key)


async def test_keys_are_found_in_their_workspace(database_url: str) -> None:
    async with opened(database_url) as shop:
        other = await shop.workspace()
        mine = make_key(shop.workspace_id, "k", "start", {"a": 1})
        theirs = make_key(other.workspace_id, "k", "start", {"a": 1})
        await shop.execute(
            "INSERT INTO idempotency_keys (workspace_id, key, request_hash, response) VALUES ($1, 'k', $2, $3)",
            shop.workspace_id,
            mine.request_hash,
            [["x", "y"]],
        )
        async with shop.database.read() as connection:
            assert await find_answered(connection, [mine, theirs]) == {
                mine.name: Answered(mine.request_hash, [["x", "y"]])
            }
            assert await find_answered(connection, []) == {}
