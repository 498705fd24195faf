"""Prints a digest of what coordinators command in many random runs; the same in every process, whatever its hash seed."""

import hashlib
import sys
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.graphs import graphs
from tests.core.simulation import Simulation, Wishes

from riven.core.graph import Graph

digest = hashlib.sha256()


@given(graphs(least=3, deepest=1), st.integers(0, 2**32))
@settings(
    max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
def run(graph: Graph, seed: int) -> None:
    simulation = Simulation(graph, Random(seed), Wishes(cancels=True, pauses=True)).run()
    digest.update(repr(simulation.history).encode())
    digest.update(repr(simulation.coordinator.snapshot()).encode())


if __name__ == "__main__":
    run()
    sys.stdout.write(digest.hexdigest())
