"""What tests do with `supervisor.py`: start it, confined or not, read what it says, kill it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures_postgres import FORGETFUL

from riven.devstack.leftovers import servers_in
from riven.devstack.postgres import EmbeddedPostgres

ROOT = Path(__file__).parents[2]

on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="user namespaces, /proc and death signals are Linux's"
)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


async def until(condition: Callable[[], bool]) -> None:
    """For what only files tell."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def server_on(directory: Path, **options: Any) -> EmbeddedPostgres:  # noqa: ANN401  handed on
    """One that does not wait for the disk: these tests kill processes, and the system lives."""
    return EmbeddedPostgres(
        directory, **{**options, "settings": {**FORGETFUL, **options.get("settings", {})}}
    )


class Supervisor:
    def __init__(
        self,
        directory: Path,
        *options: str,
        durable: bool = False,
        confined: str | None = None,
        disk: Path | None = None,
    ) -> None:
        settings = json.dumps({} if durable else FORGETFUL)
        command = [sys.executable, "-m", "tests.devstack.supervisor", str(directory), settings, *options]
        if confined:
            command = [sys.executable, "-m", "tests.devstack.confine", confined, str(disk or "-"), *command]
        self.directory = directory
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.progress: list[str] = []

    def said(self) -> dict[str, Any]:
        """The next thing it says that is more than progress."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            what: dict[str, Any] = json.loads(line)
            if "progress" not in what:
                return what
            self.progress.append(what["progress"])
        raise AssertionError(f"the supervisor ended with {self.process.wait()}")

    def started(self) -> dict[str, Any]:
        said = self.said()
        assert said.get("started"), said
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        for pid in servers_in(self.directory.resolve() / "data"):
            os.kill(pid, signal.SIGKILL)
