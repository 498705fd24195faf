"""Every workload runs, in miniature. What comes out is not judged here: figures belong to machines."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench.figures import Figure, read_figures
from bench.install import installed, restate_server

ROOT = Path(__file__).parents[2]
THROUGHPUT = {
    (workload, metric)
    for workload in ("W1", "W2", "W3")
    for metric in ("executions/s", "starts/s", "nodes/s", "cpu_ms/execution")
}
OTHERS = {
    ("W4", "p50_ms"),
    ("W4", "p99_ms"),
    ("W5", "one_s"),
    ("W5", "together_s"),
    ("W6", "8_nodes_s"),
    ("W7", "idle_pss_mib"),
    ("W7", "busy_pss_mib"),
}


def bench(out: Path, *arguments: str) -> tuple[str, dict[tuple[str, str, str], Figure]]:
    command = [
        sys.executable,
        "-m",
        "bench",
        "--size",
        "tiny",
        "--out",
        str(out / "figures.jsonl"),
        *arguments,
    ]
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    figures = read_figures(out / "figures.jsonl")
    return ran.stdout, {(figure.peer, figure.workload, figure.metric): figure for figure in figures}


@pytest.mark.slow
def test_riven_takes_every_workload(tmp_path: Path) -> None:
    said, figures = bench(tmp_path, "--peers", "riven")
    assert {("riven", *each) for each in THROUGHPUT | OTHERS} <= set(figures)
    assert figures["riven", "W4", "p50_ms by events"].value > 0
    assert figures["riven", "W5", "one_s"].value >= 0.1
    assert figures["riven", "W7", "idle_pss_mib"].value > 50
    for row in ("W1 noop1, executions/s", "riven: worker", "processor"):
        assert row in said


@pytest.mark.slow
@pytest.mark.timeout(300)  # workers are killed and start again
def test_what_is_promised_to_tenants_holds_in_miniature(tmp_path: Path) -> None:
    said, figures = bench(tmp_path, "--peers", "guarantees")
    assert figures["riven", "W8", "times_alone"].value > 0
    assert figures["riven", "W9", "kills"].value > 0
    assert figures["riven", "W9", "observations_at_a_limit"].value > 0
    for metric in ("over_limit", "slots_leaked", "not_completed", "invariants_violated"):
        assert figures["riven", "W9", metric].value == 0, said
    assert "W9 slots leaked" in said


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["restate", "dbos", "temporal-local", "temporal-activity"])
def test_a_peer_takes_every_workload(tmp_path: Path, peer: str) -> None:
    library = peer.partition("-")[0]
    if not installed(library) or (library == "restate" and restate_server() is None):
        pytest.skip("`make bench-peers` installs it")
    _, figures = bench(tmp_path, "--peers", peer)
    assert {(peer, *each) for each in THROUGHPUT | OTHERS} <= set(figures)
    assert figures[peer, "W5", "one_s"].value >= 0.1


@pytest.mark.slow
def test_the_raw_limits_are_measured(tmp_path: Path) -> None:
    said, figures = bench(tmp_path, "--peers", "limits")
    assert len(figures) == 11
    assert all(figure.value >= 0 for figure in figures.values())
    assert "insert + commit/s, 16 connections" in said.partition("raw limits")[2]
