import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from tests.tenancy.tenants import PLATFORM, make_workspace, scope

from riven.db.engine import Connection, Database
from riven.db.errors import DatabaseUnavailableError
from riven.tenancy.authentication import Authenticator
from riven.tenancy.errors import UnauthenticatedError
from riven.tenancy.keys import NewKey, create_key, create_platform_key, make_secret, revoke_key
from riven.tenancy.principals import Role


class CountingDatabase(Database):
    """Counts the connections that are asked for."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked = 0
        self.begun = asyncio.Event()

    def read(self):
        self.asked += 1
        self.begun.set()
        return super().read()


class Hands:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


async def make_key(
    database: Database, role: Role = Role.OPERATOR, expires_at: datetime | None = None
) -> NewKey:
    workspace = await make_workspace(database)
    async with database.transaction() as connection:
        return await create_key(connection, scope(workspace), name="ci", role=role, expires_at=expires_at)


async def revoke(database: Database, key: NewKey) -> None:
    async with database.transaction() as connection:
        await revoke_key(connection, PLATFORM, key.stored.id)


async def last_use(connection: Connection) -> datetime | None:
    return await connection.fetch_value("SELECT last_used_at FROM api_keys")


async def test_a_key_stands_for_its_workspace_and_role(database_url: str) -> None:
    database = Database(database_url)
    made = await make_key(database)
    async with database.transaction() as connection:
        platform = await create_platform_key(connection, PLATFORM, name="p", expires_at=None)
    authenticator = Authenticator(database)
    found = await authenticator.authenticate(made.secret)
    theirs = await authenticator.authenticate(platform.secret)
    await authenticator.close()
    await database.close()
    assert (found.kind, found.id, found.name) == ("key", str(made.stored.id), "ci")
    assert (found.workspace_id, found.role) == (made.stored.workspace_id, Role.OPERATOR)
    assert theirs.is_platform
    assert theirs.workspace_id is None


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("", "begins with `rvn_`"),
        ("rvn_short", "begins with `rvn_`"),
        ("a.b.c", "begins with `rvn_`"),
        pytest.param(make_secret(), "unknown", id="none-that-was-made"),
        ("x" * 20_000, "too long"),
        ("rvn_\udc80", "begins with `rvn_`"),
    ],
)
async def test_what_is_no_key_is_refused(database_url: str, token: str, said: str) -> None:
    database = Database(database_url)
    authenticator = Authenticator(database)
    with pytest.raises(UnauthenticatedError, match=said):
        await authenticator.authenticate(token)
    await authenticator.close()
    await database.close()


async def test_a_key_is_read_once_in_two_seconds(database_url: str) -> None:
    database, hands = CountingDatabase(database_url), Hands()
    made = await make_key(database)
    authenticator = Authenticator(database, now=hands)
    for _ in range(100):
        await authenticator.authenticate(made.secret)
    assert database.asked == 1
    hands.at += 1.9
    await authenticator.authenticate(made.secret)
    assert database.asked == 1
    hands.at += 0.2
    await authenticator.authenticate(made.secret)
    assert database.asked == 2
    await authenticator.close()
    await database.close()


async def test_however_many_requests_come_at_once_one_reads_the_key(database_url: str) -> None:
    database = CountingDatabase(database_url)
    made = await make_key(database)
    authenticator = Authenticator(database)
    found = await asyncio.gather(*(authenticator.authenticate(made.secret) for _ in range(50)))
    assert database.asked == 1
    assert len(set(map(id, found))) == 1
    await authenticator.close()
    await database.close()


async def test_a_request_that_goes_away_leaves_the_others_their_answer(database_url: str) -> None:
    database = Database(database_url)
    made = await make_key(database)
    authenticator = Authenticator(database)
    impatient = asyncio.create_task(authenticator.authenticate(made.secret))
    patient = asyncio.create_task(authenticator.authenticate(made.secret))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).name == "ci"
    with pytest.raises(asyncio.CancelledError):
        await impatient
    await authenticator.close()
    await database.close()


async def test_refused_keys_are_asked_for_again_each_time(database_url: str) -> None:
    """So that a key that is made now works now."""
    database = CountingDatabase(database_url)
    authenticator = Authenticator(database)
    unknown = make_secret()
    for _ in range(2):
        with pytest.raises(UnauthenticatedError):
            await authenticator.authenticate(unknown)
    assert database.asked == 2
    await authenticator.close()
    await database.close()


async def test_a_revoked_key_is_refused_at_once_by_the_process_that_revokes(database_url: str) -> None:
    database = Database(database_url)
    made = await make_key(database)
    authenticator = Authenticator(database)
    await authenticator.authenticate(made.secret)
    await revoke(database, made)
    authenticator.forget(f"key:{made.stored.id}")
    with pytest.raises(UnauthenticatedError, match="revoked"):
        await authenticator.authenticate(made.secret)
    await authenticator.close()
    await database.close()


async def test_other_processes_are_told_of_a_revocation(database_url: str) -> None:
    database, hands = Database(database_url), Hands()
    made = await make_key(database)
    other = Authenticator(database, now=hands)  # its clock stands still: nothing runs out
    other.start()
    await other.listening.wait()
    await other.authenticate(made.secret)
    await revoke(database, made)

    async def until_refused() -> None:
        while True:
            await other.authenticate(made.secret)
            await asyncio.sleep(0)

    with pytest.raises(UnauthenticatedError, match="revoked"):
        await until_refused()
    await other.close()
    await database.close()


async def test_a_process_that_cannot_be_told_finds_out_after_two_seconds(database_url: str) -> None:
    database, hands = Database(database_url), Hands()
    made = await make_key(database)
    deaf = Authenticator(database, now=hands)
    await deaf.authenticate(made.secret)
    await revoke(database, made)
    hands.at += 1.9
    assert (await deaf.authenticate(made.secret)).name == "ci"
    hands.at += 0.2
    with pytest.raises(UnauthenticatedError, match="revoked"):
        await deaf.authenticate(made.secret)
    await deaf.close()
    await database.close()


async def test_an_answer_that_was_on_its_way_when_the_key_was_revoked_is_not_remembered(
    database_url: str,
) -> None:
    database = CountingDatabase(database_url)
    made = await make_key(database)
    authenticator = Authenticator(database)
    on_its_way = asyncio.create_task(authenticator.authenticate(made.secret))
    await database.begun.wait()
    authenticator.forget(f"key:{made.stored.id}")
    await on_its_way
    await revoke(database, made)
    with pytest.raises(UnauthenticatedError, match="revoked"):
        await authenticator.authenticate(made.secret)
    await authenticator.close()
    await database.close()


async def test_a_key_ends_with_its_expiry_although_it_was_just_seen(database_url: str) -> None:
    database, hands = Database(database_url), Hands()
    async with database.read() as connection:
        now = await connection.fetch_value("SELECT now()")
    made = await make_key(database, expires_at=now + timedelta(hours=1))
    authenticator = Authenticator(database, now=hands)
    await authenticator.authenticate(made.secret)
    async with database.transaction() as connection:
        await connection.execute("UPDATE api_keys SET expires_at = now() + interval '1 second'")
    hands.at += 2.1
    await authenticator.authenticate(made.secret)  # a second is left, by the database's clock
    async with database.transaction() as connection:
        await connection.execute("UPDATE api_keys SET expires_at = now() - interval '1 second'")
    hands.at += 1.1
    with pytest.raises(UnauthenticatedError, match="expired"):
        await authenticator.authenticate(made.secret)
    await authenticator.close()
    await database.close()


async def test_the_last_use_is_written_at_most_once_a_minute(database_url: str) -> None:
    database, hands = Database(database_url), Hands()
    made = await make_key(database)
    authenticator = Authenticator(database, now=hands)

    async def use() -> datetime | None:
        hands.at += 2.1  # so that the key is read anew
        await authenticator.authenticate(made.secret)
        await authenticator.settled()
        async with database.read() as connection:
            return await last_use(connection)

    first = await use()
    assert first is not None
    assert await use() == first
    async with database.transaction() as connection:
        await connection.execute("UPDATE api_keys SET last_used_at = last_used_at - interval '61 seconds'")
    again = await use()
    assert again is not None
    assert again > first - timedelta(seconds=61)
    await authenticator.close()
    await database.close()


async def test_a_database_that_is_away_is_no_bad_key() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none")
    authenticator = Authenticator(database)
    with pytest.raises(DatabaseUnavailableError):
        await authenticator.authenticate(make_secret())
    await authenticator.close()
    await database.close()


async def test_known_keys_go_on_for_as_long_as_they_are_remembered_while_the_database_is_away(
    database_url: str,
) -> None:
    database, hands = Database(database_url), Hands()
    made = await make_key(database, expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    authenticator = Authenticator(database, now=hands)
    await authenticator.authenticate(made.secret)
    await authenticator.settled()
    await database.close()
    database.url = database._options["dsn"] = "postgresql://nobody@127.0.0.1:1/none"
    assert (await authenticator.authenticate(made.secret)).name == "ci"
    hands.at += 2.1
    with pytest.raises(DatabaseUnavailableError):
        await authenticator.authenticate(made.secret)
    await authenticator.close()
    await database.close()
