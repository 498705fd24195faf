"""Record the history of every conformance scenario on a real Temporal, for the tests that replay them.

Run it when the rules version has grown, or a scenario was added; a history that is there already is kept as it is, since
runs that were begun by it may still be going on somewhere. `--anew` records them all: before the first release alone.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.conformance.scenario import SCENARIOS, Scenario  # noqa: E402 - tests are no package that is installed
from tests.conformance.temporal import TemporalUnderTest  # noqa: E402
from tests.engines.temporal.histories import FILE, read_histories, write_histories  # noqa: E402
from tests.fixtures_postgres import FORGETFUL  # noqa: E402

from riven.db.schema import migrate  # noqa: E402
from riven.devstack.postgres import EmbeddedPostgres  # noqa: E402
from riven.devstack.temporal import EmbeddedTemporal  # noqa: E402
from riven.engines.temporal.client import TemporalAddress, connect  # noqa: E402

PATIENCE = 300.0


async def record(url: str, address: str, scenarios: Sequence[Scenario]) -> dict[str, str]:
    """The histories, as JSON, by the names of their scenarios."""
    client = await connect(TemporalAddress(address=address))
    recorded: dict[str, str] = {}
    with TemporalUnderTest(url, address, patience=PATIENCE) as engine:
        engine.expect([each for each in scenarios if not each.alone])
        for scenario in scenarios:
            run = await engine.run(scenario)
            handle = client.get_workflow_handle(f"execution-{run['executionId']}")
            async for _ in handle.fetch_history_events(wait_new_event=True, event_filter_type=2):
                pass  # its end is recorded before it closes
            recorded[scenario.name] = (await handle.fetch_history()).to_json()
            print(scenario.name)
    return recorded


async def main(*, anew: bool) -> None:
    known = {} if anew or not FILE.exists() else read_histories()
    scenarios = [each for each in SCENARIOS if each.name not in known]
    with tempfile.TemporaryDirectory() as directory:
        postgres = EmbeddedPostgres(Path(directory) / "postgres", settings=FORGETFUL)
        temporal = EmbeddedTemporal(Path(directory) / "temporal", pragmas={"synchronous": "off"})
        await postgres.start()
        await temporal.start()
        try:
            await migrate(postgres.url)
            known |= await record(postgres.url, temporal.address, scenarios)
        finally:
            await temporal.stop()
            await postgres.stop()
    write_histories(known)
    print(f"{len(scenarios)} recorded, {FILE.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true")
    asyncio.run(main(anew=parser.parse_args().anew))
