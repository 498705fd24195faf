"""The benchmark runs. What it measures is not judged here: figures belong to machines."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_figure_is_printed_at_a_hundredth_of_the_size() -> None:
    bench = [sys.executable, "bench/bench_core.py", "--scale", "0.01", "--repeats", "1"]
    ran = subprocess.run(bench, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for figure in [
        "coordinator, 1,000 nodes",
        "graphlib",
        "plain counters",
        "validate 300 nodes, YAML",
        "validate 300 nodes, JSON",
        "riven run, 300 riven.echo nodes",
        "peak memory",
        "templates",
        "riven validate, a small file",
    ]:
        assert figure in ran.stdout
