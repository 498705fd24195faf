import os
from pathlib import Path

import asyncpg
import pytest
from tests.devstack.supervising import Supervisor, on_linux, server_on

from riven.devstack.cluster import SETTINGS, settings_text


def test_settings_are_quoted() -> None:
    text = settings_text({"a": "it's", "b": r"c:\d", "jit": "on"})
    assert "a = 'it''s'\n" in text
    assert "b = 'c:\\\\d'\n" in text
    assert text.count("jit = ") == 1
    assert "jit = 'on'\n" in text
    assert all(f"{name} = " in text for name in SETTINGS)


MOMENTS = {
    "nothing": lambda directory: (directory / "lock").exists(),
    "initdb began": lambda directory: any(directory.glob("data.new-*")),
    "initdb filled it": lambda directory: any(directory.glob("data.new-*/base/1/*")),
    "configured": lambda directory: any(
        path.read_text(encoding="utf-8").startswith("# PostgreSQL of riven")
        for path in directory.glob("data.new-*/postgresql.conf")
    ),
    "there": lambda directory: (directory / "data").exists(),
}


@on_linux
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.slow
async def test_a_first_start_that_is_killed_leaves_nothing_half_made(tmp_path: Path, moment: str) -> None:
    arrived = MOMENTS[moment]
    with Supervisor(tmp_path) as supervisor:
        while not arrived(tmp_path):
            assert supervisor.process.poll() is None
        supervisor.kill()
        assert moment == "there" or not (tmp_path / "data").exists()
        server = server_on(tmp_path)
        await server.start()
        connection = await asyncpg.connect(server.url)
        assert await connection.fetchval("SELECT current_database()") == "riven"
        await connection.close()
        await server.stop()
    assert not any(name.startswith("data.new") for name in os.listdir(tmp_path))  # noqa: PTH208
