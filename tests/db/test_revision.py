"""What is told without Alembic is what Alembic would tell."""

import asyncio
import subprocess
import sys

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from tests.fixtures_postgres import run_statements

from riven.db.engine import Database
from riven.db.revision import MIGRATIONS, is_current, known_revisions, latest_revision


def test_the_revisions_are_those_that_alembic_finds() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    found = ScriptDirectory.from_config(config)
    assert [script.revision for script in found.walk_revisions()][::-1] == list(known_revisions())
    assert found.get_heads() == [latest_revision()]


@pytest.mark.parametrize("revision", [latest_revision(), "9999"])
def test_a_schema_of_this_code_or_a_later_one_is_current(database_url: str, revision: str) -> None:
    run_statements(database_url, f"UPDATE alembic_version SET version_num = '{revision}'")
    assert asked(database_url)


def test_a_database_without_a_schema_is_not_current(empty_database_url: str) -> None:
    assert not asked(empty_database_url)


def asked(url: str) -> bool:
    async def ask() -> bool:
        database = Database(url, pool_size=1)
        try:
            return await is_current(database)
        finally:
            await database.close()

    return asyncio.run(ask())


def test_asking_loads_no_alembic() -> None:
    program = "import sys, riven.db.revision; sys.exit('alembic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
