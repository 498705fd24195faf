"""CPU and memory of trees of processes, as Linux tells them in /proc."""

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

_TICK = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def tree(roots: Iterable[int], without: Iterable[int] = ()) -> list[int]:
    """The processes and all below them, but for those `without` and all below these."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdecimal() and (fields := _stat(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found: dict[int, None] = {}
    waiting, left_out = list(roots), set(without)
    while waiting:
        pid = waiting.pop()
        if pid not in found and pid not in left_out:
            found[pid] = None
            waiting += children.get(pid, ())
    return list(found)


def cpu_seconds(roots: Iterable[int], without: Iterable[int] = ()) -> float:
    """Of the trees so far, children that have ended included."""
    ticks = 0
    for pid in tree(roots, without):
        if fields := _stat(pid):
            ticks += sum(int(each) for each in fields[11:15])
    return ticks / _TICK


def pss_mebibytes(roots: Iterable[int], without: Iterable[int] = ()) -> float:
    """Memory of the trees; what several processes share counts once, in parts."""
    kibibytes = 0
    for pid in tree(roots, without):
        try:
            text = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue
        kibibytes += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return kibibytes / 1024


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat behind the name: state, parent, ..."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


class Usage:
    """CPU of each part since the beginning; what lies below another part is that one's."""

    def __init__(self, parts: Mapping[str, list[int]]) -> None:
        self._parts = parts
        self._before = self._now()

    def milliseconds(self) -> dict[str, float]:
        return {name: (seconds - self._before[name]) * 1e3 for name, seconds in self._now().items()}

    def _now(self) -> dict[str, float]:
        return {name: cpu_seconds(pids, others(self._parts, name)) for name, pids in self._parts.items()}


def others(parts: Mapping[str, list[int]], name: str) -> list[int]:
    """The processes of all parts but this one."""
    return [pid for other, pids in parts.items() if other != name for pid in pids]


class PeakMemory:
    """The most memory that the trees had, looked at twice a second."""

    def __init__(self, roots: list[int], every: float = 0.5) -> None:
        self.mebibytes = 0.0
        self._roots, self._every = roots, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.mebibytes = max(self.mebibytes, pss_mebibytes(self._roots))
            if self._stop.wait(self._every):
                return
