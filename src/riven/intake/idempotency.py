"""The same request twice: found by its Idempotency-Key, answered as it was the first time.

A key belongs to a workspace and is written with the executions that it stands for, in their transaction. Of two that
come at once, one inserts it and the other finds that it is there: inserting waits for the first one's commit.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson

from riven.db.engine import Connection
from riven.intake.errors import KeyReusedError
from riven.tenancy.errors import field_error
from riven.wire.document import Json

HEADER: Final = "Idempotency-Key"
_KEY: Final = re.compile(r"[\x20-\x7e]{1,255}")
_BEYOND: Final = 2.0**63
"""Floats below it that are whole are the same JSON number as an integer that may come."""

_FIND: Final = """
SELECT k.workspace_id, k.key, k.request_hash, k.response::text AS response
FROM unnest($1::uuid[], $2::text[]) AS asked (workspace_id, key)
JOIN idempotency_keys k ON k.workspace_id = asked.workspace_id AND k.key = asked.key
"""

_PRUNE: Final = """
DELETE FROM idempotency_keys
WHERE (workspace_id, key) IN (
    SELECT workspace_id, key FROM idempotency_keys
    WHERE created_at < now() - make_interval(secs => $1)
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
"""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    workspace_id: UUID
    key: str
    request_hash: bytes
    """Of everything that makes the request what it is."""

    @property
    def name(self) -> tuple[UUID, str]:
        return self.workspace_id, self.key


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered to the first request with a key."""

    request_hash: bytes
    response: Json

    def check(self, key: IdempotencyKey) -> None:
        """Raises KeyReusedError: it was another request."""
        if self.request_hash != key.request_hash:
            raise KeyReusedError(
                f"the key {key.key!r} came with another request before; a new request needs a new key"
            )


def make_key(workspace_id: UUID, key: str, operation: str, request: Json) -> IdempotencyKey:
    """`operation` tells requests apart whose bodies may be alike: `start`, `start-batch`, `rerun 0198…`.

    Raises InvalidRequestError for what cannot be a key.
    """
    if not _KEY.fullmatch(key):
        raise field_error(
            HEADER, "invalid_value", "an Idempotency-Key has 1 to 255 printable ASCII characters"
        )
    try:
        return IdempotencyKey(workspace_id, key, hash_request(operation, request))
    except TypeError as error:
        raise field_error("input", "wrong_type", f"this is no JSON: {error}") from error


def hash_request(operation: str, request: Json) -> bytes:
    """The same for the same JSON value, however it was written: in which order, with which blanks, 1 or 1.0."""
    text = orjson.dumps(request, option=orjson.OPT_SORT_KEYS, default=_plain)
    if b".0" in text or b"e" in text or b"E" in text:
        text = orjson.dumps(_whole(orjson.loads(text)), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(operation.encode() + b"\0" + text).digest()


def _plain(value: object) -> str:
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _whole(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _whole(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _BEYOND:
        return int(value)
    return value


async def find_answered(
    connection: Connection, keys: Sequence[IdempotencyKey]
) -> dict[tuple[UUID, str], Answered]:
    """Of those that came before, what was answered; by `IdempotencyKey.name`."""
    if not keys:
        return {}
    rows: Sequence[Any] = await connection.fetch(
        _FIND, [each.workspace_id for each in keys], [each.key for each in keys]
    )
    return {
        (row["workspace_id"], row["key"]): Answered(row["request_hash"], orjson.loads(row["response"]))
        for row in rows
    }


async def prune_keys(connection: Connection, seconds: float, most: int) -> int:
    """Those that came longer ago; answers how many of at most so many are gone."""
    return await connection.execute(_PRUNE, seconds, most)
