import asyncio
import os
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.devstack.supervising import on_linux, server_on, until

from riven.devstack import postgres
from riven.devstack.errors import (
    DataDirectoryError,
    DataVersionError,
    DevstackError,
    DirectoryBusyError,
    ServerFailedError,
)
from riven.devstack.leftovers import servers_in
from riven.devstack.postgres import EmbeddedPostgres
from riven.lifecycle import Lifecycle


@asynccontextmanager
async def running(directory: Path, **options: object) -> AsyncIterator[EmbeddedPostgres]:
    server = server_on(directory, **options)  # type: ignore[arg-type]
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def ask(url: str, query: str) -> object:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def remember(url: str) -> str:
    """Commit something; answers the query that finds it."""
    table = f"remembered_{secrets.token_hex(4)}"
    await ask(url, f"CREATE TABLE {table} AS SELECT 42 AS answer")
    return f"SELECT answer FROM {table}"


async def test_a_first_start_makes_a_database_and_a_second_finds_it(tmp_path: Path) -> None:
    said: list[str] = []
    server: Lifecycle = server_on(tmp_path / "new", progress=said.append)
    assert isinstance(server, EmbeddedPostgres)
    assert not server.started
    await server.start()
    assert server.started
    assert said == ["creating the database"]
    query = await remember(server.url)
    url = server.url
    await server.stop()
    assert not server.started
    assert servers_in(tmp_path / "new" / "data") == []
    async with running(tmp_path / "new", progress=said.append) as again:
        assert again.url == url
        assert await ask(again.url, query) == 42
    assert said == ["creating the database"]


async def test_starting_what_runs_and_stopping_twice_change_nothing(directory: Path) -> None:
    server = server_on(directory)
    await server.stop()
    await server.start()
    pid = server.pid
    await server.start()
    assert server.pid == pid
    await server.stop()
    await server.stop()
    with pytest.raises(RuntimeError):
        _ = server.pid


async def test_the_owner_is_no_superuser_and_may_make_databases(directory: Path) -> None:
    async with running(directory) as server:
        assert await ask(server.url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
        await ask(server.url, "CREATE DATABASE other")
        await ask(server.url, "DROP DATABASE other")
        await ask(server.url, "SELECT query FROM pg_stat_activity")
        owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
        assert await ask(server.url, owner) == "riven"


async def test_text_is_unicode_and_sorted_the_same_everywhere(directory: Path) -> None:
    async with running(directory) as server:
        assert await ask(server.url, "SHOW server_encoding") == "UTF8"
        assert await ask(server.url, "SELECT 'a' > 'B' AND upper('é') = 'É'") is True
        assert await ask(server.url, "SHOW timezone") == "UTC"


async def test_what_is_committed_is_on_the_disk(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    await server.start()
    try:
        for setting in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
            assert await ask(server.url, f"SHOW {setting}") == "on"
    finally:
        await server.stop()


async def test_only_those_with_the_password_get_in_and_only_from_this_machine(directory: Path) -> None:
    async with running(directory) as server:
        port = urlsplit(server.url).port
        for user, password in (
            ("riven", "guess"),
            ("riven", None),
            ("postgres", None),
            ("postgres", "postgres"),
        ):
            with pytest.raises((asyncpg.InvalidPasswordError, asyncpg.InterfaceError)):
                await asyncpg.connect(
                    host="127.0.0.1",
                    port=port,
                    user=user,
                    password=password,
                    database="postgres",
                    passfile=directory / "none",
                )
        assert await ask(server.url, "SHOW listen_addresses") == "127.0.0.1"
        assert await ask(server.url, "SHOW unix_socket_directories") == ""


async def test_password_log_and_data_are_private(directory: Path) -> None:
    async with running(directory):
        for name in ("server.json", "postgres.log", "lock", "server.lock", "riven.conf"):
            assert (directory / name).stat().st_mode & 0o077 == 0
        assert (directory / "data").stat().st_mode & 0o077 == 0


@pytest.mark.slow
async def test_a_path_too_long_for_sockets_with_odd_letters_serves_too(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a folder with 'quotes' \" and ümlauts $HOME % \\"] * 4)
    async with running(deep / "postgres") as server:
        assert await ask(server.url, "SELECT 1") == 1


@pytest.mark.slow
async def test_settings_of_the_caller_win_over_ours_and_those_of_the_file_over_both(
    own_directory: Path,
) -> None:
    with (own_directory / "data" / "postgresql.conf").open("a", encoding="utf-8") as conf:
        conf.write("work_mem = '7MB'\nlisten_addresses = '*'\n")
    odd = r"it's \ odd"
    settings = {"work_mem": "5MB", "max_connections": "17", "cluster_name": odd}
    async with running(own_directory, settings=settings) as server:
        assert await ask(server.url, "SHOW work_mem") == "7MB"
        assert await ask(server.url, "SHOW max_connections") == "17"
        assert await ask(server.url, "SHOW cluster_name") == odd
        assert await ask(server.url, "SHOW listen_addresses") == "127.0.0.1"


async def test_a_port_can_be_asked_for_and_a_taken_one_is_refused(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = server_on(directory, port=port)
        with pytest.raises(DevstackError, match=f"port {port} .*taken"):
            await server.start()
    await server.start()
    assert server.port == port
    assert await ask(server.url, "SHOW port") == str(port)
    await server.stop()


@pytest.mark.slow
async def test_a_kept_port_that_another_program_took_is_changed(directory: Path) -> None:
    async with running(directory) as server:
        kept = server.port
    with socket.create_server(("127.0.0.1", kept)):
        async with running(directory) as server:
            assert server.port != kept
            changed = server.port
    async with running(directory) as server:
        assert server.port == changed


async def test_two_on_one_directory_the_second_says_so(directory: Path) -> None:
    async with running(directory) as server:
        with pytest.raises(DirectoryBusyError, match=f"in use by process {os.getpid()}"):
            await server_on(directory).start()
        assert await ask(server.url, "SELECT 1") == 1


@pytest.mark.slow
async def test_a_lost_password_is_replaced_and_the_data_stay(directory: Path) -> None:
    async with running(directory) as server:
        query = await remember(server.url)
        old = server.url
    for damaged in (None, "", "{", "[]", '{"port": "x"}'):
        (directory / "server.json").unlink()
        if damaged is not None:
            (directory / "server.json").write_text(damaged, encoding="utf-8")
        async with running(directory) as server:
            assert urlsplit(server.url).password != urlsplit(old).password
            assert await ask(server.url, query) == 42


@pytest.mark.slow
async def test_a_wrong_password_says_how_to_get_a_new_one(directory: Path) -> None:
    state = f'{{"port": {15000 + secrets.randbelow(1000)}, "password": "of another"}}'
    (directory / "server.json").write_text(state, encoding="utf-8")
    server = server_on(directory)
    with pytest.raises(ServerFailedError, match=r"server\.json .*remove that file"):
        await server.start()
    assert not server.started
    (directory / "server.json").unlink()
    await server.start()
    await server.stop()


async def test_data_of_another_major_version_are_left_alone(own_directory: Path) -> None:
    (own_directory / "data" / "PG_VERSION").write_text("15\n", encoding="ascii")
    with pytest.raises(
        DataVersionError, match=r"made by PostgreSQL 15, and PostgreSQL \d+ is installed.*==15\.\*"
    ):
        await server_on(own_directory).start()


async def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "diary.txt").write_text("dear diary", encoding="utf-8")
    with pytest.raises(DataDirectoryError, match="holds no PostgreSQL data"):
        await server_on(tmp_path).start()
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["diary.txt"]


@pytest.mark.slow
async def test_a_setting_that_is_wrong_is_told_with_the_log(directory: Path) -> None:
    server = server_on(directory, settings={"no_such_setting": "1"})
    with pytest.raises(ServerFailedError, match=r"postgresql\.conf sets something .*postgres\.log") as caught:
        await server.start()
    assert caught.value.log is not None
    assert "no_such_setting" in caught.value.log.read_text(encoding="utf-8")
    assert not server.started
    async with running(directory):
        pass


async def test_a_damaged_directory_is_told(own_directory: Path) -> None:
    for segment in (own_directory / "data" / "pg_wal").glob("0*"):
        segment.unlink()
    with pytest.raises(ServerFailedError, match="damaged; restore it from a backup"):
        await server_on(own_directory).start()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGQUIT])
async def test_a_server_that_died_is_told_and_started_again_on_its_port(
    directory: Path, number: signal.Signals
) -> None:
    async with running(directory) as server:
        url, pid = server.url, server.pid
        query = await remember(url)
        watching = asyncio.ensure_future(server.wait())
        os.kill(pid, number)
        how = await watching
        assert number is not signal.SIGKILL or how == "killed by SIGKILL"
        assert not server.started
        await server.start()
        assert server.url == url
        assert server.pid != pid
        assert await ask(url, query) == 42


async def test_whoever_waits_is_told_of_an_orderly_end_too(directory: Path) -> None:
    server = server_on(directory)
    await server.start()
    watching = [asyncio.ensure_future(server.wait()) for _ in range(2)]
    watching[0].cancel()
    await server.stop()
    assert await watching[1] == "exit status 0"


@pytest.mark.slow
@on_linux
async def test_stopping_has_a_deadline_whatever_the_server_does(directory: Path) -> None:
    server = server_on(directory)
    await server.start()
    query = await remember(server.url)
    os.kill(server.pid, signal.SIGSTOP)  # it can react to nothing but a kill
    asked = asyncio.get_running_loop().time()
    await server.stop(deadline=0.1)
    assert asyncio.get_running_loop().time() - asked < 6
    await server.start()
    assert await ask(server.url, query) == 42
    await server.stop()


@pytest.mark.slow
async def test_stopping_does_not_wait_for_clients(directory: Path) -> None:
    server = server_on(directory)
    await server.start()
    client = await asyncpg.connect(server.url)
    sleeping = asyncio.ensure_future(client.execute("SELECT pg_sleep(1000)"))
    while not await ask(server.url, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
        pass
    await server.stop()
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await sleeping
    client.terminate()
    assert "database system is shut down" in server.log.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["version", "creating", "ready"])
async def test_a_cancelled_start_leaves_nothing_behind(tmp_path: Path, moment: str) -> None:
    server = server_on(tmp_path)
    starting = asyncio.ensure_future(server.start())
    arrived = {
        "version": (tmp_path / "lock").exists,
        "creating": lambda: any(tmp_path.glob("data.new-*/base")),
        "ready": (tmp_path / "data" / "postmaster.pid").exists,
    }[moment]
    await until(arrived)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not any(name.startswith("data.new") for name in os.listdir(tmp_path))  # noqa: PTH208
    async with running(tmp_path) as again:
        assert await ask(again.url, "SELECT 1") == 1


@pytest.mark.slow
async def test_one_server_serves_one_event_loop_after_the_other(directory: Path) -> None:
    server = server_on(directory)
    failures: list[BaseException] = []

    def in_a_loop(*steps: str) -> None:
        async def take() -> None:
            for step in steps:
                await getattr(server, step)()

        try:
            asyncio.run(take())
        except BaseException as error:  # noqa: BLE001  told below
            failures.append(error)

    for step in (("start",), ("start", "stop")):
        thread = threading.Thread(target=in_a_loop, args=step)
        thread.start()
        thread.join()
    assert failures == []
    assert not server.started


@pytest.mark.slow
async def test_the_log_stays_bounded_while_the_server_runs(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LOG_CHECK_INTERVAL", 0.01)
    server = server_on(directory, settings={"log_statement": "all"})
    server._log._limit = 20_000
    await server.start()
    for _ in range(20):
        await ask(server.url, f"SELECT '{'x' * 5000}'")
    await until(lambda: server.log.stat().st_size <= 20_000)
    assert server._log.older.stat().st_size == 20_000
    await server.stop()


@pytest.mark.slow
async def test_a_start_that_makes_no_progress_is_given_up_and_nothing_of_it_left(own_directory: Path) -> None:
    (own_directory / "data" / "recovery.signal").touch()
    server = server_on(own_directory, settings={"restore_command": "sleep 1000"}, patience=0.5)
    with pytest.raises(ServerFailedError, match=r"not ready after 0\.5 s without progress \(log: "):
        await server.start()
    assert not server.started
    await until(lambda: servers_in(own_directory / "data") == [])
    (own_directory / "data" / "recovery.signal").unlink()
    async with running(own_directory) as server:
        assert await ask(server.url, "SELECT 1") == 1
