"""Restate: its server with its default durable log, and one process of handlers in Python."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any, ClassVar

from bench.exchange import Exchange
from bench.install import RESTATE_SERVER, restate_server
from bench.peer import Peer
from bench.product import ENVIRONMENT, free_port, own_directory, running, until_answered


class Restate(Peer):
    """A run is started by a one-way call and awaited by attaching to it."""

    name = "restate"
    settings: ClassVar = {
        "log": "its default: replicated loglet, RocksDB WAL, fsync",
        "handlers": "hypercorn, HTTP/2, 1 process",
    }

    def __init__(self, ingress: Exchange, parts: dict[str, list[int]]) -> None:
        self.version = f"server {RESTATE_SERVER.rpartition('@')[2]}, sdk {version('restate-sdk')}"
        self.parts = parts
        self._ingress = ingress

    async def start(self, kind: str, **options: int) -> str:
        status, answer = await self._ingress.send("POST", f"/Bench/{kind}/send", json.dumps(options).encode())
        if status not in {200, 202}:
            raise RuntimeError(f"{kind} is not started: {status} {answer.decode()}")
        return str(json.loads(answer)["invocationId"])

    async def wait(self, run: str) -> Any:  # noqa: ANN401 - what the handler returned
        return await self._ingress.ask("GET", f"/restate/invocation/{run}/attach")


@asynccontextmanager
async def opened() -> AsyncIterator[Restate]:
    program = restate_server()
    if program is None:
        raise RuntimeError("the server of Restate is not installed")
    ingress, admin, node, handlers = (free_port() for _ in range(4))
    environment = {
        **ENVIRONMENT,
        "RESTATE_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "1",
        "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
        "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
        "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
        "RESTATE_ADVERTISED_HOST": "127.0.0.1",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_LOG_FILTER": "warn",
    }
    with ExitStack() as stack:
        directory = stack.enter_context(own_directory("restate"))
        quiet = {"stdout": stack.enter_context((directory / "log").open("wb")), "stderr": subprocess.STDOUT}
        start = (program, "--no-logo", "--base-dir", str(directory / "data"))
        server = stack.enter_context(running(*start, env=environment, **quiet))
        serve = (sys.executable, "-m", "hypercorn", "--worker-class", "uvloop", "--log-level", "error")
        bind = ("--bind", f"127.0.0.1:{handlers}", "bench.peers.restate_app:app")
        service = stack.enter_context(running(*serve, *bind, **quiet))
        body = json.dumps({"uri": f"http://127.0.0.1:{handlers}"}).encode()
        async with Exchange(f"http://127.0.0.1:{admin}") as administration:
            await until_answered(lambda: administration.send("POST", "/deployments", body), {200, 201})
        async with Exchange(f"http://127.0.0.1:{ingress}") as exchange:
            yield Restate(exchange, {"server": [server.pid], "handlers": [service.pid]})
