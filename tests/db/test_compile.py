from uuid import UUID

from sqlalchemy import select

from riven.db.compile import compile_query
from riven.db.tables.executions import workflow_executions

e = workflow_executions.c


def test_values_stand_in_the_order_of_their_places():
    query = select(e.id).where(e.version == 3, e.workflow_name == "x").limit(7)
    text, values = compile_query(query)
    assert values == [3, "x", 7]
    assert text.index("$1") < text.index("$2") < text.index("$3")


def test_ids_go_as_they_are():
    wanted = UUID(int=1)
    text, values = compile_query(select(e.id).where(e.id == wanted))
    assert (values, "$1::UUID" in text) == ([wanted], True)


def test_a_query_without_values_has_none():
    assert compile_query(select(e.id))[1] == []
