"""Real DAGs: each node hashes its own id with its parents' hashes, so that agreeing hashes prove the whole data flow.

Data, attribution and the definition of a hash: tests/data/dags/README.md.
"""

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.engines import EngineUnderTest
from tests.conformance.functions import hash_of
from tests.conformance.scenario import Scenario

FOLDER = Path(__file__).parent.parent / "data" / "dags"
WFCOMMONS = sorted(FOLDER.glob("*.json"))
ALIBABA = (FOLDER / "alibaba-300.jsonl").read_text(encoding="utf-8").splitlines()


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def parents_of(edges: Sequence[tuple[str, str]]) -> Mapping[str, list[str]]:
    parents: dict[str, list[str]] = defaultdict(list)
    for source, target in edges:
        parents[target].append(source)
    return parents


def scenario(name: str, ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> Scenario:
    key = {id: f"n{place}" for place, id in enumerate(ids)}
    parents = parents_of(edges)
    nodes = {
        key[id]: {
            "type": "python",
            "name": id,
            "with": {
                "function": "test.hash",
                "args": {
                    "id": id,
                    "parents": [f"{{{{ steps.{key[parent]}.output }}}}" for parent in parents[id]],
                },
            },
        }
        for id in ids
    }
    document = {
        "name": name,
        "nodes": nodes,
        "edges": [{"from": key[source], "to": key[target]} for source, target in edges],
    }
    return Scenario(name=name, document=document)


def distinct(edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The trace names a few edges twice, which a document may not."""
    return list(dict.fromkeys(edges))


def hashes_of(run: Mapping[str, Any]) -> dict[str, str]:
    assert run["status"] == "COMPLETED", run["error"]
    assert {node["status"] for node in run["nodes"]} <= {"COMPLETED"}
    return {node["name"]: node["output"] for node in run["nodes"]}


def assert_every_node_after_its_parents(run: Mapping[str, Any], edges: Sequence[tuple[str, str]]) -> None:
    nodes = {node["name"]: node for node in run["nodes"]}
    for source, target in edges:
        assert nodes[source]["finishedAt"] <= nodes[target]["startedAt"], (source, target)


def test_the_data_is_whole() -> None:
    assert len(WFCOMMONS) == 8
    assert len(ALIBABA) == 300


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem.startswith("bwa") else [])
        for path in WFCOMMONS
    ],
)
async def test_scientific_workflows_run_with_agreeing_hashes(engine: EngineUnderTest, path: Path) -> None:
    dag = read(path)
    ids = [node["id"] for node in dag["nodes"]]
    edges = [(source, target) for source, target in dag["edges"]]
    expect = dag["expect"]
    assert (len(ids), len(edges)) == (expect["nodes"], expect["edges"])
    run = await engine.run(scenario("dag", ids, edges))
    hashes = hashes_of(run)
    assert {id: hashes[id] for id in expect["sink_hash"]} == expect["sink_hash"]
    every = ",".join(hashes[id] for id in sorted(hashes))
    assert hashlib.sha256(every.encode()).hexdigest() == expect["all_hash"]
    assert_every_node_after_its_parents(run, edges)


@pytest.mark.parametrize("part", range(6))
async def test_production_shapes_run_with_every_node_after_its_parents(
    engine: EngineUnderTest, part: int
) -> None:
    async def run(line: str) -> None:
        job = json.loads(line)
        ids = [str(node[0]) for node in job["nodes"]]
        edges = distinct((str(source), str(target)) for source, target in job["edges"])
        run = await engine.run(scenario("dag", ids, edges))
        assert hashes_of(run) == expected_hashes(ids, edges), job["job"]
        assert_every_node_after_its_parents(run, edges)

    await asyncio.gather(*[run(line) for line in ALIBABA[part::6]])


def expected_hashes(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, str]:
    parents = parents_of(edges)
    hashes: dict[str, str] = {}

    def compute(id: str) -> str:
        if id not in hashes:
            hashes[id] = hash_of(id, [compute(parent) for parent in parents[id]])
        return hashes[id]

    return {id: compute(id) for id in ids}
