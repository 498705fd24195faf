"""Which schema a database has, told without Alembic: every process asks, and only those that migrate load it."""

import re
from functools import cache
from pathlib import Path

from riven.db.engine import Database

MIGRATIONS = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(\d{4})_\w+\.py")


@cache
def known_revisions() -> tuple[str, ...]:
    """Of this code, the oldest first. A migration's file begins with its revision; a test compares with Alembic."""
    names = (_NAME.fullmatch(path.name) for path in (MIGRATIONS / "versions").iterdir())
    return tuple(sorted(name[1] for name in names if name is not None))


def latest_revision() -> str:
    return known_revisions()[-1]


async def is_current(database: Database) -> bool:
    """The schema is that of this code, or a later one, on which this code lives too."""
    async with database.read() as connection:
        if not await connection.fetch_value("SELECT to_regclass('alembic_version') IS NOT NULL"):
            return False
        revision = await connection.fetch_value("SELECT version_num FROM alembic_version")
    return revision is not None and (revision == latest_revision() or revision not in known_revisions())
