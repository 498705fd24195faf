"""Programs that riven runs beside itself: in a session of their own, so that Ctrl-C in the terminal is riven's alone.

A program is waited for by a thread, not by the event loop: it may be started in one loop and stopped in another, and it
outlives a loop that ends.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO

from riven.devstack import launch
from riven.devstack.errors import LaunchError
from riven.devstack.launch import Orders, RunAs

ITSELF = RunAs(way="self", uid=-1, gid=-1, enters=False)

_ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}
"""Nothing of ours: PGOPTIONS, PGDATA or a locale of the user's shell would change what a server does."""


class Program:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process
        self._ended: Future[int] = Future()
        self._ended.set_running_or_notify_cancel()  # whoever gives up waiting must not cancel it for the others
        threading.Thread(target=self._reap, name=f"wait for {process.pid}", daemon=True).start()

    @property
    def running(self) -> bool:
        return not self._ended.done()

    async def wait(self) -> int:
        """The exit status, negative for a signal."""
        return await asyncio.wrap_future(self._ended)

    async def ends_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), seconds)
        return not self.running

    def send(self, number: signal.Signals) -> None:
        """To the program alone, if it still runs."""
        self._process.send_signal(number)

    def kill_session(self) -> None:
        """The program with all that it started and that is still in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _reap(self) -> None:
        self._ended.set_result(self._process.wait())


def start_program(
    command: Sequence[str | Path],
    *,
    output: IO[bytes],
    run_as: RunAs = ITSELF,
    input: IO[bytes] | None = None,
    reach: Sequence[Path] = (),
    keep_open: Sequence[int] = (),
    death_signal: signal.Signals = signal.SIGKILL,
) -> Program:
    """Returns when the program has begun; raises LaunchError when it could not.

    It gets `death_signal` when riven dies, on Linux and if this is riven's main thread (the kernel watches the thread
    that forked). Elsewhere what is left of it is found at the next start.
    """
    watched = sys.platform == "linux" and threading.current_thread() is threading.main_thread()
    status, told = os.pipe()
    orders = Orders(
        run_as=run_as,
        reach=[str(path) for path in reach],
        death_signal=int(death_signal) if watched else 0,
        parent=os.getpid(),
        status=told,
        command=[str(part) for part in command],
    )
    with os.fdopen(status, "rb") as failures:
        try:
            process = subprocess.Popen(  # noqa: S603  what we were asked to start
                [sys.executable, "-I", "-S", "-B", launch.__file__, json.dumps(orders)],
                stdin=subprocess.DEVNULL if input is None else input,
                stdout=output,
                stderr=output,
                cwd="/",
                env=_ENVIRONMENT,
                pass_fds=[told, *keep_open],
                start_new_session=True,
            )
        except OSError as error:
            raise LaunchError(f"{sys.executable} cannot be started: {error.strerror}") from error
        finally:
            os.close(told)
        failure = failures.read()  # ends when the program begins or the launcher dies
    program = Program(process)
    if failure:
        raise LaunchError(_in_words(json.loads(failure), command[0]))
    return program


async def run_program(
    command: Sequence[str | Path],
    *,
    output: IO[bytes],
    run_as: RunAs = ITSELF,
    input: IO[bytes] | None = None,
    reach: Sequence[Path] = (),
) -> int:
    """Run it to its end and return the exit status; a cancelled run is killed."""
    program = start_program(command, output=output, run_as=run_as, input=input, reach=reach)
    try:
        return await program.wait()
    finally:
        if program.running:
            program.kill_session()
            await program.wait()


def how_it_ended(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def _in_words(failure: dict[str, str | int], program: str | Path) -> str:
    reason = os.strerror(int(failure["errno"])) if failure["errno"] else ""
    match failure["step"]:
        case "namespace":
            return f"user namespaces are not allowed here ({reason})"
        case "user":
            return f"it is not allowed to run a program as another user here ({reason})"
        case "capability":
            return "the privilege to enter directories of others is not there to be kept"
        case "reach":
            return f"{failure['path']} cannot be entered ({reason})"
        case "parent":
            return "riven ended while it started the program"
        case _:
            return f"{program} cannot be run ({reason})"
