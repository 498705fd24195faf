"""What `riven dev` asks of `riven.main.prepare`: a process that is gone when it has done its work."""

import asyncio
import contextlib
import json
import sys

from riven.devstack.errors import DevstackError
from riven.devstack.program import how_it_ended


class Preparation:
    """Entered early, so that the process loads what it needs while the database starts."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "Preparation":
        self._process = await asyncio.create_subprocess_exec(
            *python_module("riven.main.prepare"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def prepare(self, url: str, key: str | None) -> dict[str, str]:
        assert self._process is not None  # noqa: S101 - it was entered
        asked = json.dumps({"databaseUrl": url, "apiKey": key}).encode()
        answer, errors = await self._process.communicate(asked)
        status = self._process.returncode or 0
        if status != 0:
            reason = errors.decode(errors="replace").strip().rpartition("\n")[2] or how_it_ended(status)
            raise DevstackError(f"the database could not be prepared: {reason}")
        prepared: dict[str, str] = json.loads(answer)
        return prepared


def python_module(name: str) -> tuple[str, ...]:
    """Runs it as a program. The working directory is not looked in: a file of the user's must not pass for a library."""
    return (sys.executable, "-P", "-m", name)
