"""Queries whose conditions depend on what is asked for: written in SQLAlchemy Core, sent as text and values."""

from typing import Any

from sqlalchemy import Select
from sqlalchemy.dialects.postgresql import asyncpg

_DIALECT: Any = asyncpg.dialect()  # type: ignore[no-untyped-call]


def compile_query(query: "Select[Any]") -> tuple[str, list[object]]:
    """The statement with `$1`, `$2`, ... and the values for them, in order."""
    compiled = query.compile(dialect=_DIALECT)
    return str(compiled), [compiled.params[name] for name in compiled.positiontup or ()]
