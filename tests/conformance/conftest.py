"""Every test that asks for `engine` runs once for each engine."""

import pytest
from tests.conformance.engines import ENGINES, EngineUnderTest


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> EngineUnderTest:
    return ENGINES[request.param]()
