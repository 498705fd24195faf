"""A riven of its own: `riven dev` on an empty directory, gone afterwards."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.exchange import ExchangeError

ROOT = Path(__file__).parents[1]
READY_WITHIN = 120.0
STOPPED_WITHIN = 60.0
ENVIRONMENT = os.environ  # noqa: TID251 - a program, no part of riven


@dataclass(frozen=True, slots=True)
class Product:
    data: Path

    @property
    def state(self) -> dict[str, Any]:
        """dev.json: as it is now, for parts that died have other pids afterwards."""
        return dict(json.loads((self.data / "dev.json").read_text(encoding="utf-8")))


def data_directory() -> Path:
    """On a disk: what is fsynced in memory costs nothing."""
    directory = Path(ENVIRONMENT.get("BENCH_DATA", "/var/tmp/riven-bench"))  # noqa: S108 - named for that
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


async def until_answered(ask: Callable[[], Awaitable[tuple[int, bytes]]], wanted: set[int]) -> None:
    """By one of these statuses."""
    answer: object = None
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        try:
            answer = await ask()
        except (OSError, ExchangeError) as error:
            answer = error
        else:
            if answer[0] in wanted:
                return
        await asyncio.sleep(0.2)
    raise RuntimeError(f"no answer that was wanted: {answer}")


@contextmanager
def own_directory(name: str) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=data_directory()))
    directory.chmod(0o755)  # a database may run as another user
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def running(*command: str | Path, **options: Any) -> Iterator[subprocess.Popen[Any]]:  # noqa: ANN401 - Popen's
    """A process, ended afterwards, in order if it can."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, **options)  # noqa: S603 - our own commands
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOPPED_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def riven_dev(*arguments: str) -> Iterator[Product]:
    """`arguments` of `riven dev`, beside directory and port."""
    command = [sys.executable, "-m", "riven.main.command", "dev", "--port", "0", *arguments]
    # Modules are compiled once, as they are for whoever installs riven, also where the environment says otherwise.
    own = {
        name: value
        for name, value in ENVIRONMENT.items()
        if not name.startswith(("RIVEN_", "PYTHONDONTWRITE"))
    }
    with own_directory("riven") as directory, (directory / "dev.out").open("wb") as output:
        product = Product(directory / "data")
        command += ["--data-dir", str(product.data)]
        with running(*command, env=own, stdout=output, stderr=subprocess.STDOUT) as dev:
            end = time.monotonic() + READY_WITHIN
            while not (product.data / "dev.json").exists():
                if dev.poll() is not None or time.monotonic() > end:
                    said = (directory / "dev.out").read_text(encoding="utf-8", errors="replace")
                    raise RuntimeError(f"riven dev is not ready: {said[-2_000:]}")
                time.sleep(0.02)
            yield product
