"""What all tables share: naming of constraints, columns of every table, checks on texts that are enums.

What a table, a column and an index is for stands with it (`info["about"]`, `doc`, `info["for"]`): the reference of
tables is made from that.

JSON that tenants send is kept as `json`, not `jsonb`: it keeps integers, key order and every legal string as they were
sent (`jsonb` refuses the NUL escape). Labels are `jsonb`, because lists filter by them.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import CheckConstraint, Column, DateTime, MetaData, Uuid, text

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)

TIME = DateTime(timezone=True)


def own_id() -> Column[Any]:
    """UUIDv7 made by riven; the default serves rows that a person inserts."""
    return Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()"))


def now_column(name: str, doc: str | None = None) -> Column[Any]:
    return Column(name, TIME, nullable=False, server_default=text("now()"), doc=doc)


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
