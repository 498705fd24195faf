"""Every test that asks for `engine` runs once for each engine."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from tests.conformance.engines import ENGINES, EngineUnderTest, Servers
from tests.conformance.scenario import Scenario
from tests.fixtures_postgres import new_database

pytest.register_assert_rewrite("tests.conformance.expectations")

IN_MEMORY = "memory"
PARAMS = [pytest.param(name, marks=[] if name == IN_MEMORY else [pytest.mark.slow]) for name in ENGINES]


@pytest.fixture(scope="session", params=PARAMS)
def engine(request: pytest.FixtureRequest) -> Iterator[EngineUnderTest]:
    def database() -> AbstractContextManager[str]:
        server, template = map(request.getfixturevalue, ("postgres_server", "migrated_template"))
        return new_database(server.url, template=template)

    servers = Servers(database, lambda: request.getfixturevalue("temporal_server").address)
    with ENGINES[request.param](servers) as opened:
        scenarios = _scenarios_for(request.session, request.param)
        opened.expect([scenario for scenario in scenarios if not scenario.alone])
        yield opened


def _scenarios_for(session: pytest.Session, engine: str) -> Iterator[Scenario]:
    for item in session.items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if params.get("engine") == engine and isinstance(params.get("scenario"), Scenario):
            yield params["scenario"]
