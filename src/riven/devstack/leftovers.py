"""Servers that outlived the riven that started them: found and stopped, so that there are never two on one directory.

Two things are known of them. All processes of a server hold the lock on `server.lock`, which they inherited, whatever
namespace or container they live in: while it is taken, one of them lives. And on Linux they stand in their data
directory, which /proc shows; elsewhere `ps` shows the command line of the first of them, whose end the others notice.
"""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from riven.devstack.errors import DirectoryBusyError

PROC = Path("/proc")
LOOK_AGAIN = 0.02

_STEPS = (
    (signal.SIGINT, signal.SIGTERM, 10.0),
    (signal.SIGQUIT, signal.SIGQUIT, 3.0),
    (signal.SIGKILL, signal.SIGKILL, 5.0),
)
"""What the first process of a server gets, what the others get when it is gone already, and for how many seconds."""

_ORPHANS_PATIENCE = 1.0
"""Seconds that the others get at most: without the first they have nothing to put in order."""


async def stop_leftovers(data: Path, gone: Callable[[], bool]) -> None:
    """Returns when nothing runs on `data` and `gone()` is true; raises DirectoryBusyError when that cannot be had."""
    for to_first, to_others, patience in _STEPS:
        begin = time.monotonic()
        end = begin + patience
        signalled: set[int] = set()
        while time.monotonic() < end:
            pids = servers_in(data)
            if not pids and gone():
                return
            first = first_pid(data)
            if first is not None and first in pids:
                pids, number = [first], to_first
            else:
                number = to_others
                end = min(end, begin + _ORPHANS_PATIENCE) if pids else end
            for pid in pids:
                if pid not in signalled:
                    _send(pid, number, data)
                    signalled.add(pid)
            await asyncio.sleep(LOOK_AGAIN)
    left = servers_in(data)
    who = f"process {left[0]}" if left else "a process of another container or user"
    raise DirectoryBusyError(
        f"a PostgreSQL server still runs on {data} and cannot be stopped: end {who} first",
        left[0] if left else None,
    )


def kill_holders(path: Path) -> list[int]:
    """End every other process that has this file of ours open, be it frozen. On systems without /proc: none."""
    try:
        wanted = path.stat()
    except OSError:
        return []
    if not PROC.joinpath("self", "fd").exists():
        return []
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()]
    found = [pid for pid in pids if pid != os.getpid() and _has_open(pid, wanted)]
    for pid in found:
        _send_if(pid, signal.SIGKILL, partial(_has_open, pid, wanted))
    return found


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    with contextlib.suppress(OSError):  # gone, or of another user
        for descriptor in PROC.joinpath(str(pid), "fd").iterdir():
            with contextlib.suppress(OSError):
                found = descriptor.stat()
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    return True
    return False


def servers_in(data: Path) -> list[int]:
    """Living PostgreSQL processes that work in this directory."""
    if not PROC.joinpath("self", "cwd").exists():
        return servers_by_command(data)
    try:
        wanted = data.stat()
    except OSError:
        return []
    pids = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())
    return sorted(pid for pid in pids if _stands_in(pid, wanted))


def servers_by_command(data: Path) -> list[int]:
    """For systems without /proc: the first processes alone."""
    listing = subprocess.run(
        ["/bin/ps", "-axww", "-o", "pid=,stat=,command="],
        capture_output=True,
        check=False,
        text=True,
        errors="replace",
    )
    server = re.compile(rf"\s*(\d+)\s+[^Z\s]\S*\s+\S*postgres(?: .*)? -D {re.escape(str(data))}(?: .*)?$")
    return sorted(int(match[1]) for line in listing.stdout.splitlines() if (match := server.match(line)))


def first_pid(data: Path) -> int | None:
    """The server's own word on its first process; it may be long dead, and the pid another program's."""
    try:
        line = (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").partition("\n")[0]
    except OSError:
        return None
    return int(line) if line.strip().isdecimal() else None


def forget_stale_pid(data: Path) -> None:
    """To be called when nothing runs on `data`: PostgreSQL refuses to start if any process has the pid by now."""
    with contextlib.suppress(OSError):
        (data / "postmaster.pid").unlink()


def _stands_in(pid: int, wanted: os.stat_result) -> bool:
    try:
        program = PROC.joinpath(str(pid), "exe").readlink().name
        place = PROC.joinpath(str(pid), "cwd").stat()
    except OSError:  # gone, a zombie, or of another user
        return False
    same_place = (place.st_dev, place.st_ino) == (wanted.st_dev, wanted.st_ino)
    return same_place and program.removesuffix(" (deleted)") == "postgres"


def _send(pid: int, number: signal.Signals, data: Path) -> None:
    _send_if(pid, number, lambda: pid in servers_in(data))


def _send_if(pid: int, number: signal.Signals, is_still: Callable[[], bool]) -> None:
    """Signal it unless the pid has become another's since we looked."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, number)
            return
        descriptor = os.pidfd_open(pid)
        try:
            if is_still():
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)
