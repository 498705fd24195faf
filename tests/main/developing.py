"""`riven dev` as a process of its own: started on a directory, looked at, killed in part or in whole."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import asyncpg
import httpx

from riven.settings import child_environment
from riven.wire.document import Json

RIVEN = [sys.executable, "-P", "-m", "riven.main.command"]
PATIENCE = 60.0


def until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:  # noqa: ANN401 - what it gave
    """For what only files and other processes tell."""
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {patience:g} s: {what}"
        time.sleep(0.005)
    return found


def own_environment(**changes: str) -> dict[str, str]:
    """Without settings of whoever runs the tests."""
    given = {name: value for name, value in child_environment().items() if not name.startswith("RIVEN_")}
    return {**given, **changes}


def lives(pid: int) -> bool:
    """A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Dev:
    def __init__(
        self,
        directory: Path,
        *arguments: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        folder: Path | None = None,
        **settings: str,
    ) -> None:
        """`settings` are written without their prefix, as in `LEASE_TTL="1s"`."""
        self.directory = directory
        directory.parent.mkdir(exist_ok=True)
        self.output = directory.with_name(f"{directory.name}-{time.monotonic_ns()}.out")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*RIVEN, "dev", "--data-dir", str(directory), "--port", "0", *arguments],
                env=own_environment(
                    **environment, **{f"RIVEN_{name}": value for name, value in settings.items()}
                ),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._seen: set[int] = set()

    # ---- what it says ---------------------------------------------------------------------------------------------

    @property
    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    @property
    def state(self) -> dict[str, Any]:
        """dev.json; empty where there is none."""
        try:
            state: dict[str, Any] = json.loads((self.directory / "dev.json").read_bytes())
        except FileNotFoundError:
            return {}
        self._seen.update(state["pids"].values())
        return state

    @property
    def pids(self) -> dict[str, int]:
        pids: dict[str, int] = self.state.get("pids", {})
        return pids

    def ready(self) -> "Dev":
        def look() -> bool:
            assert self.process.poll() is None, self.said
            return self.state.get("pid") == self.process.pid  # not what one that was killed has left

        until(look, "riven dev is ready")
        return self

    # ---- the product ----------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, body: Json = None, *, text: str | None = None) -> httpx.Response:
        """`body` is JSON, `text` is sent as it is."""
        state = self.state
        headers = {"Authorization": f"Bearer {state['apiKey']}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            text = json.dumps(body)
        address = state["url"] + path
        return httpx.request(method, address, headers=headers, content=text, timeout=30.0, trust_env=False)

    def publish(self, document: str) -> str:
        """A document whose first line is its name; the name."""
        name = document.strip().partition("\n")[0].removeprefix("name: ")
        address = f"/api/v1/workspaces/{self.state['workspaceId']}/workflows/{name}"
        saved = self.ask("PUT", address, text=document)
        assert saved.json()["problems"] == [], saved.text
        published = self.ask("POST", f"{address}/publish")
        assert published.status_code == 200, published.text
        return name

    def start(self, name: str, count: int = 1, input: Json = None) -> list[str]:
        one = {"workspaceId": self.state["workspaceId"], "workflowName": name, "input": input or {}}
        started = self.ask("POST", "/api/v1/workflow/executions/start-batch", {"executions": [one] * count})
        assert started.status_code == 202, started.text
        return [each["executionId"] for each in started.json()["executions"]]

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """A look into the database."""

        async def look() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(self.state["databaseUrl"])
            try:
                return [tuple(row) for row in await connection.fetch(query, *values)]
            finally:
                await connection.close()

        return asyncio.run(look())

    def statuses(self) -> dict[str, int]:
        return dict(self.rows("SELECT status, count(*) FROM workflow_executions GROUP BY status"))

    def until_all(self, status: str, count: int) -> None:
        until(lambda: self.statuses() == {status: count}, f"{count} executions are {status}")

    def carries_out(self, name: str) -> None:
        """A new execution is COMPLETED."""
        [id] = self.start(name)
        query = "SELECT status FROM workflow_executions WHERE id = $1::uuid"
        until(lambda: self.rows(query, id) == [("COMPLETED",)], "a new execution is completed")

    # ---- ends -----------------------------------------------------------------------------------------------------

    def kill(self, part: str) -> int:
        """A part, as it were by accident; the pid that it had."""
        pid = self.pids[part]
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_everything(self) -> None:
        for pid in {self.process.pid, *self.pids.values()}:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def left(self) -> list[int]:
        """Processes that were parts of it and live."""
        return [pid for pid in sorted(self._seen) if lives(pid)]

    def __enter__(self) -> "Dev":
        return self

    def __exit__(self, *_: object) -> None:
        _ = self.state  # remembers who was last seen
        self.process.kill()
        self.process.wait()
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        until(lambda: not self.left(), "nothing is left")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
