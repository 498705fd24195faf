"""`riven migrate` and the settings of processes, as operators meet them."""

import subprocess
import sys

import pytest
from tests.cli.terminal import riven

from riven.devstack.temporal import EmbeddedTemporal, find_binary
from riven.tenancy.keys import is_key


def test_the_first_platform_key_is_printed_once(empty_database_url: str) -> None:
    environment = {"RIVEN_DATABASE_URL": empty_database_url}
    first = riven("migrate", "--platform-key", env=environment)
    assert first.returncode == 0
    assert is_key(first.stdout.strip())
    assert "revision" in first.stderr
    second = riven("migrate", "--platform-key", env=environment)
    assert (second.returncode, second.stdout) == (1, "")
    assert "there is a platform key already" in second.stderr
    assert riven("migrate", env=environment).returncode == 0


@pytest.mark.parametrize("command", ["api", "worker", "maintenance", "all", "migrate"])
def test_settings_that_cannot_be_used_are_told_at_the_start_one_line_each(command: str) -> None:
    done = riven(command, env={"RIVEN_LEASE_TTL": "soon", "RIVEN_PROT": "1"})
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("riven: RIVEN_LEASE_TTL: 'soon' is no duration")
    assert second == "riven: RIVEN_PROT: there is no such setting; did you mean 'RIVEN_PORT'?"


@pytest.mark.parametrize("command", ["api", "worker", "maintenance", "all", "migrate"])
def test_a_process_without_a_database_says_which_variable_is_missing(command: str) -> None:
    done = riven(command)
    assert done.returncode == 2
    assert "RIVEN_DATABASE_URL: it is missing" in done.stderr
    assert done.stderr.count("\n") == 1


def test_functions_that_cannot_be_loaded_are_told_at_the_start() -> None:
    done = riven(
        "worker", "--functions", "nowhere.py", env={"RIVEN_DATABASE_URL": "postgresql://x@127.0.0.1:1/x"}
    )
    assert done.returncode == 2
    assert "nowhere.py: there is no such file" in done.stderr


def test_an_engine_that_is_not_known_is_refused_by_name() -> None:
    for command in ("worker", "dispatcher", "all", "dev"):
        done = riven(command, "--engine", "warp")
        assert done.returncode == 2
        assert "'warp' is not one of 'embedded', 'temporal'" in done.stderr


@pytest.mark.parametrize("command", ["api", "dispatcher", "worker", "maintenance", "all", "migrate"])
def test_with_temporal_every_process_needs_its_address(command: str) -> None:
    environment = {"RIVEN_DATABASE_URL": "postgresql://x@127.0.0.1:1/x", "RIVEN_ENGINE": "temporal"}
    done = riven(command, env=environment)
    assert done.returncode == 2
    assert "RIVEN_TEMPORAL_ADDRESS: it is missing" in done.stderr
    assert done.stderr.count("\n") == 1


def test_settings_of_temporal_are_refused_with_the_embedded_engine() -> None:
    done = riven("worker", env={"RIVEN_TEMPORAL_ADDRESS": "127.0.0.1:7233"})
    assert done.returncode == 2
    assert "RIVEN_TEMPORAL_ADDRESS: it has no effect with the embedded engine" in done.stderr


def test_search_attributes_are_registered_with_the_schema(
    empty_database_url: str, temporal_server: EmbeddedTemporal
) -> None:
    environment = {
        "RIVEN_DATABASE_URL": empty_database_url,
        "RIVEN_ENGINE": "temporal",
        "RIVEN_TEMPORAL_ADDRESS": temporal_server.address,
    }
    for _ in range(2):
        done = riven("migrate", env=environment)
        assert done.returncode == 0, done.stderr
        assert f"Temporal at {temporal_server.address} knows the search attributes" in done.stderr
    command = [find_binary(), "operator", "search-attribute", "list", "--address", temporal_server.address]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, env={}).stdout
    assert {"RivenWorkspaceId", "RivenWorkflowId", "RivenVersionId"} <= set(listed.split())


def test_a_temporal_that_is_away_is_told_in_one_line(empty_database_url: str) -> None:
    environment = {
        "RIVEN_DATABASE_URL": empty_database_url,
        "RIVEN_ENGINE": "temporal",
        "RIVEN_TEMPORAL_ADDRESS": "127.0.0.1:1",
    }
    done = riven("migrate", env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "riven: the search attributes cannot be registered: Temporal"
    )
    assert "Traceback" not in done.stderr


def test_the_embedded_engine_needs_no_dispatcher_and_says_so() -> None:
    done = riven("dispatcher")
    assert (done.returncode, done.stdout) == (2, "")
    assert "every worker dispatches for itself" in done.stderr


def test_a_worker_loads_neither_the_web_server_nor_prometheus() -> None:
    program = "import sys, riven.main.worker; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"fastapi", "uvicorn", "prometheus_client", "sqlalchemy", "alembic", "temporalio"} & set(
        loaded
    )


def test_maintenance_loads_nothing_of_what_runs_workflows() -> None:
    program = "import sys, riven.main.maintenance; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"riven.engines.embedded.durable", "fastapi", "httpcore", "temporalio"} & set(loaded)


def test_a_database_that_cannot_be_reached_is_named_by_its_setting() -> None:
    ran = riven("migrate", env={"RIVEN_DATABASE_URL": "postgresql://riven:x@127.0.0.1:1/riven"})
    assert ran.returncode == 1
    assert ran.stderr.startswith("riven: the database of RIVEN_DATABASE_URL cannot be reached: ")
    assert ran.stderr.count("\n") == 1
