"""The reference of the database's tables, made from how the code describes them."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import CheckConstraint, Column, Index, Table, UniqueConstraint
from sqlalchemy.dialects import postgresql

from riven.db.tables import catalog, executions, queue, tenancy

INTRODUCTION = """\
# Tables

What riven keeps in PostgreSQL 15 or later, in the schema that `search_path` names first. `riven migrate` makes it and
brings it up to date. Read it as you like: every program that shares the database may
[start executions](../how-to/start-executions.md#start-in-a-transaction-of-your-own) in a transaction of its own, and
read what it wants. Write no row by hand: [who moves what](../explanation/life-of-a-run.md) is decided by riven alone.

- Ids are UUIDs of version 7, made by riven: they sort by time. Times are the database's clock.
- What tenants send is `json`, not `jsonb`: it keeps integers, the order of keys and every legal string as they were sent.
- Statuses and kinds are texts with a check: adding one needs no lock on a type.
- Every index is there for a statement, and the plan of every frequent statement is tested on a full database
  ([tests](../../tests/queue/test_plans.py)). Partial indexes keep what is not looked for out of them: a claim costs the
  same however much is scheduled, parked or done.
"""
GROUPS = {
    "workspace_tiers": "Who asks, and how much they may",
    "workflow_definitions": "What is run",
    "execution_queue": "The line",
    "workflow_executions": "Runs",
}
"""By the first table of each."""
MODULES = (tenancy, catalog, queue, executions)
"""That declare tables."""
COMMON = {
    "id": "Its own.",
    "workspace_id": "Whose it is.",
    "execution_id": "Of which execution.",
    "workflow_definition_id": "Of which workflow.",
    "created_at": "When it was made.",
    "updated_at": "When it was last changed.",
}
"""What these mean where nothing else is said."""
DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]


def tables_page() -> str:
    lines = [INTRODUCTION]
    declared = [each for module in MODULES for each in vars(module).values() if isinstance(each, Table)]
    for table in dict.fromkeys(declared):
        if table.name in GROUPS:
            lines += [f"## {GROUPS[table.name]}", ""]
        lines += _table(table)
    return "\n".join(lines)


def _table(table: Table) -> Iterator[str]:
    yield f"### `{table.name}`\n"
    yield f"{table.info['about']}\n"
    yield "| column | type | |"
    yield "|---|---|---|"
    for column in table.columns:
        yield f"| `{column.name}` | {_type(column)} | {_about(column)} |"
    yield ""
    yield from _rules(table)
    indexes = sorted(table.indexes, key=lambda index: str(index.name))
    if indexes:
        yield "| index | on | for |"
        yield "|---|---|---|"
        for index in indexes:
            yield f"| `{index.name}` | {_on(index)} | {index.info['for']} |"
        yield ""


def _type(column: Column[Any]) -> str:
    said = [f"`{column.type.compile(DIALECT).replace(' WITH TIME ZONE', 'TZ').lower()}`"]
    said += [f"to [`{key.column.table.name}`](#{key.column.table.name})" for key in column.foreign_keys]
    if column.nullable:
        said.append("may be null")
    if column.server_default is not None and column.name != "id" and not column.identity:
        default = str(column.server_default.arg)  # type: ignore[union-attr]
        said.append(f"default `{default}`")
    return ", ".join(said)


def _about(column: Column[Any]) -> str:
    about = column.doc or COMMON[column.name]
    return about.replace("|", "\\|")


def _rules(table: Table) -> Iterator[str]:
    """Keys and checks: what the database itself holds."""
    rules = [f"primary key ({_names(table.primary_key.columns)})"]
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint):
            rules.append(f"unique ({_names(constraint.columns)})")
        if isinstance(constraint, CheckConstraint):
            rules.append(f"`{constraint.sqltext}`")
    yield f"Holds: {'; '.join(sorted(rules, key=lambda rule: (rule.startswith('`'), rule)))}.\n"


def _names(columns: Any) -> str:  # noqa: ANN401 - SQLAlchemy has several collections
    return ", ".join(f"`{column.name}`" for column in columns)


def _on(index: Index) -> str:
    said = (
        f"{'unique, ' if index.unique else ''}`{', '.join(_expression(each) for each in index.expressions)}`"
    )
    where = index.dialect_options["postgresql"]["where"]
    return said if where is None else f"{said} where `{where}`"


def _expression(expression: Any) -> str:  # noqa: ANN401 - a column or a text
    return str(expression.name) if isinstance(expression, Column) else str(expression)
