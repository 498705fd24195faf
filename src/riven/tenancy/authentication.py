"""Who stands behind a bearer token. The answer is remembered for two seconds, so that a start reads no key.

Revocation: the process that revokes forgets the key with the commit; the others are told by NOTIFY within milliseconds.
Should that connection be down, they find out when they ask again, after `remember` (2 s) at the latest. Nothing is
remembered of tokens that were refused.

`last_used_at` is kept to the minute and written only when a key is read anew, by a task of its own: no request waits
for it, and a key that is always in use costs a write a minute.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID

from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.db.listen import ChannelListener
from riven.tenancy.claims import Claims, TokenVerifier
from riven.tenancy.errors import UnauthenticatedError
from riven.tenancy.keys import CHANNEL, is_key
from riven.tenancy.members import memberships_of
from riven.tenancy.principals import Principal, Role

_LONGEST: Final = 16_384
_MOST: Final = 10_000
"""Tokens that are remembered."""

_FIND = """
SELECT id, workspace_id, name, role, revoked_at IS NOT NULL AS revoked,
       extract(epoch FROM expires_at - now())::float8 AS seconds_left,
       last_used_at IS NULL OR last_used_at < now() - interval '1 minute' AS stale
FROM api_keys WHERE key_hash = $1
"""
_TOUCH = """
UPDATE api_keys SET last_used_at = now()
WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
"""

_log = logging.getLogger("riven.tenancy")


@dataclass(frozen=True, slots=True)
class _Known:
    principal: Principal
    until: float


class Authenticator:
    """One for each process that serves requests; `start` and `close` are the API's lifecycle."""

    def __init__(
        self,
        database: Database,
        *,
        oidc: TokenVerifier | None = None,
        remember: float = 2.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`remember` in seconds."""
        self._database = database
        self._oidc = oidc
        self._remember = remember
        self._now = now
        self._known: dict[bytes, _Known] = {}
        self._asking: dict[bytes, asyncio.Task[Principal]] = {}
        self._touching: set[asyncio.Task[None]] = set()
        self._forgotten = 0
        self._listener = ChannelListener(database, CHANNEL, heard=self.forget, connected=self.forget_all)

    def start(self) -> None:
        self._listener.start()

    async def close(self) -> None:
        await self._listener.stop()
        await asyncio.gather(*self._asking.values(), *self._touching, return_exceptions=True)
        if self._oidc is not None:
            await self._oidc.close()

    @property
    def listening(self) -> asyncio.Event:
        """Set while revocations elsewhere are heard."""
        return self._listener.listening

    async def settled(self) -> None:
        """Until what was begun on the side, such as writing a last use, is done."""
        await asyncio.gather(*self._touching, return_exceptions=True)

    async def authenticate(self, token: str) -> Principal:
        """Raises UnauthenticatedError, or what the database says when it is away."""
        if len(token) > _LONGEST:
            raise UnauthenticatedError("the token is too long to be one; send an API key or a JWT")
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        known = self._known.get(digest)
        if known is not None and known.until > self._now():
            return known.principal
        asking = self._asking.get(digest)
        if asking is None:  # however many requests come with it at once, one asks
            asking = asyncio.get_running_loop().create_task(
                self._ask(token, digest), name="riven-authenticate"
            )
            self._asking[digest] = asking
            asking.add_done_callback(lambda task: self._asked(digest, task))
        return await asyncio.shield(asking)

    def forget(self, subject: str) -> None:
        """`key:ID` or `user:SUBJECT`: what is known of it is out of date."""
        self._forgotten += 1
        gone = [digest for digest, known in self._known.items() if known.principal.actor == subject]
        for digest in gone:
            del self._known[digest]

    def forget_all(self) -> None:
        self._forgotten += 1
        self._known.clear()

    def _asked(self, digest: bytes, task: asyncio.Task[Principal]) -> None:
        self._asking.pop(digest, None)
        if not task.cancelled():
            task.exception()  # whoever waits has it; nobody may have waited long enough

    async def _ask(self, token: str, digest: bytes) -> Principal:
        forgotten = self._forgotten
        if is_key(token):
            principal, seconds = await self._key(digest)
        elif self._oidc is not None and token.count(".") == 2:
            principal, seconds = await self._user(await self._oidc.verify(token))
        else:
            raise UnauthenticatedError("this is no API key of riven's; it begins with `rvn_`")
        if forgotten == self._forgotten:
            self._keep(digest, principal, min(seconds, self._remember))
        return principal

    def _keep(self, digest: bytes, principal: Principal, seconds: float) -> None:
        self._known.pop(digest, None)
        while len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[digest] = _Known(principal, self._now() + seconds)

    async def _key(self, digest: bytes) -> tuple[Principal, float]:
        async with self._database.read() as connection:
            row = await connection.fetch_row(_FIND, digest)
        if row is None:
            raise UnauthenticatedError("this API key is unknown; check it, or have a new one made")
        if row["revoked"]:
            raise UnauthenticatedError("this API key was revoked; have a new one made")
        left = row["seconds_left"]
        if left is not None and left <= 0:
            raise UnauthenticatedError("this API key has expired; have a new one made")
        if row["stale"]:
            self._touch(row["id"])
        principal = Principal(
            kind="key",
            id=str(row["id"]),
            name=row["name"],
            workspace_id=row["workspace_id"],
            role=Role(row["role"]),
        )
        return principal, self._remember if left is None else left

    async def _user(self, claims: Claims) -> tuple[Principal, float]:
        async with self._database.read() as connection:
            memberships = await memberships_of(connection, claims.subject)
        principal = Principal(kind="user", id=claims.subject, name=claims.name, memberships=memberships)
        return principal, claims.seconds_left

    def _touch(self, key_id: UUID) -> None:
        task = asyncio.get_running_loop().create_task(self._used(key_id), name="riven-key-used")
        self._touching.add(task)
        task.add_done_callback(self._touching.discard)

    async def _used(self, key_id: UUID) -> None:
        try:
            async with self._database.transaction() as connection:
                await connection.execute(_TOUCH, key_id)
        except DatabaseError as error:
            _log.info("key_use_not_recorded", extra={"keyId": str(key_id), "error": str(error)})
