"""Every test that asks for `engine` runs once for each engine."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from tests.conformance.engines import ENGINES, EngineUnderTest
from tests.fixtures_postgres import new_database

pytest.register_assert_rewrite("tests.conformance.expectations")


@pytest.fixture(scope="session", params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[EngineUnderTest]:
    def database() -> AbstractContextManager[str]:
        server, template = map(request.getfixturevalue, ("postgres_server", "migrated_template"))
        return new_database(server.url, template=template)

    with ENGINES[request.param](database) as opened:
        opened.expect(
            [
                item.callspec.params["scenario"]
                for item in request.session.items
                if isinstance(item, pytest.Function)
                and item.parent is not None
                and item.parent.name == "test_scenarios.py"
                and hasattr(item, "callspec")
                and item.callspec.params["engine"] == request.param
            ]
        )
        yield opened
