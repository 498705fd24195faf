"""The same scenarios on every engine."""

import pytest
from tests.conformance.engines import EngineUnderTest
from tests.conformance.expectations import check
from tests.conformance.scenario import SCENARIOS, Scenario


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
async def test_scenario(engine: EngineUnderTest, scenario: Scenario) -> None:
    check(await engine.run(scenario), scenario.expect)
